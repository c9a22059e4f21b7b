// The quads of a frame, counted down all planes.

// The plane that a quad belongs to.
fn plane_of(quad: u32) -> u32 {
    return u32(quad >= stream.planes[1].first) + u32(quad >= stream.planes[2].first);
}

// Where a quad lies in its plane.
fn position(plane: u32, quad: u32) -> vec2<u32> {
    let index = quad - stream.planes[plane].first;
    let y = index / quads(plane);
    return vec2(index - y * quads(plane), y);
}
