// Samples of 16 bits, two to a word, are counted by the upper ten bits of their codes.

const CODES = 1024u;
// Tables that a measuring workgroup counts in: more do not fit into its memory.
const COPIES = 2u;
