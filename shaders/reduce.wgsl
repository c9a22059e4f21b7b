// Adds up the tables that the measuring workgroups left in their slots.
//
// A workgroup takes 16 codes; its invocations share the slots among them, so that no thread adds more than a
// handful of numbers in series.

@group(0) @binding(0) var<storage, read> slots: array<u32>;
@group(0) @binding(1) var<storage, read_write> statistics: array<u32>;

const CODES = 256u;
const CODES_EACH = 16u;
const MOST_PARTS = 16u;

override parts: u32 = 16u;

var<workgroup> partial: array<u32, CODES_EACH * MOST_PARTS>;

@compute @workgroup_size(CODES_EACH, parts)
fn reduce(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_id) local: vec3<u32>) {
    let code = group.x * CODES_EACH + local.x;
    let tables = arrayLength(&slots) / CODES;
    var total = 0u;
    for (var table = local.y; table < tables; table += parts) {
        total += slots[table * CODES + code];
    }
    partial[local.y * CODES_EACH + local.x] = total;
    workgroupBarrier();
    if local.y == 0u {
        for (var part = 1u; part < parts; part++) {
            total += partial[part * CODES_EACH + local.x];
        }
        statistics[code] = total;
    }
}
