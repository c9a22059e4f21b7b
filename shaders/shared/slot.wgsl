// What a measuring workgroup leaves: 256 counts of codes, then for each column of chunks a sum, then a count.

const COLUMNS = 32u;
const SUMS = 256u;
const COUNTS = SUMS + COLUMNS;
const SLOT = COUNTS + COLUMNS;
