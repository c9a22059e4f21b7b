// Adds up what the measuring workgroups left in their slots.
//
// For the codes, a workgroup takes 16 of them; its invocations share the slots among them, so that none adds more
// than a handful of numbers in series. For the chunks, which few slots share, an invocation takes one.

@group(0) @binding(0) var<uniform> stream: Stream;
@group(0) @binding(1) var<storage, read> slots: array<u32>;
// The counts of codes, then the chunks' sums, then their counts.
@group(0) @binding(2) var<storage, read_write> statistics: array<u32>;

const CODES_EACH = 16u;
const MOST_PARTS = 16u;

override parts: u32 = 16u;

var<workgroup> partial: array<u32, CODES_EACH * MOST_PARTS>;

@compute @workgroup_size(CODES_EACH, parts)
fn reduce(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(local_invocation_id) local: vec3<u32>,
    @builtin(local_invocation_index) index: u32,
) {
    if group.x < CODES / CODES_EACH {
        let code = group.x * CODES_EACH + local.x;
        let tables = arrayLength(&slots) / SLOT;
        var total = 0u;
        for (var table = local.y; table < tables; table += parts) {
            total += slots[table * SLOT + code];
        }
        partial[local.y * CODES_EACH + local.x] = total;
        workgroupBarrier();
        if local.y == 0u {
            for (var part = 1u; part < parts; part++) {
                total += partial[part * CODES_EACH + local.x];
            }
            statistics[code] = total;
        }
        return;
    }
    let chunk = (group.x - CODES / CODES_EACH) * CODES_EACH * parts + index;
    if chunk < stream.chunks {
        let first = (chunk / stream.across) * stream.bands;
        let column = chunk % stream.across;
        var sum = 0u;
        var count = 0u;
        for (var table = first; table < first + stream.bands; table++) {
            sum += slots[table * SLOT + SUMS + column];
            count += slots[table * SLOT + COUNTS + column];
        }
        statistics[CODES + chunk] = sum;
        statistics[CODES + stream.chunks + chunk] = count;
    }
}
