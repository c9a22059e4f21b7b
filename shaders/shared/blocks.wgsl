// The planes cut into blocks of ACROSS words by ROWS_EACH * thread_rows rows, counted down all planes.

// The plane that a block belongs to.
fn plane_of(block: u32) -> u32 {
    return u32(block >= stream.planes[1].first_block) + u32(block >= stream.planes[2].first_block);
}
