// Samples of 8 bits, four to a word, are counted code by code.

const CODES = 256u;
// Tables that a measuring workgroup counts in.
const COPIES = 2u;
