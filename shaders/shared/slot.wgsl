// What a measuring workgroup leaves: the counts of codes, then for each column of chunks a sum, then a count.

const COLUMNS = 32u;
const SUMS = CODES;
const COUNTS = SUMS + COLUMNS;
const SLOT = COUNTS + COLUMNS;
