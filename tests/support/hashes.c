// Threefry-2x32 with 20 rounds for XLA on CPUs, word by word: `driftopt.rng.threefry`, which this is checked with.
#include "xla/ffi/api/c_api.h"

#define TURN(by) x += y, y = x ^ (y << by | y >> (32 - by))
#define FIRST TURN(13), TURN(15), TURN(26), TURN(6)
#define SECOND TURN(17), TURN(29), TURN(16), TURN(24)
#define ADD(a, b, count) x += a, y += b + count

XLA_FFI_Error* threefry(XLA_FFI_CallFrame* call) {
  if (call->extension_start && call->extension_start->type == XLA_FFI_Extension_Metadata) {
    XLA_FFI_Api_Version* made_for = &((XLA_FFI_Metadata_Extension*)call->extension_start)->metadata->api_version;
    made_for->major_version = XLA_FFI_API_MAJOR;
    made_for->minor_version = XLA_FFI_API_MINOR;
    return 0;
  }
  XLA_FFI_Buffer** given = (XLA_FFI_Buffer**)call->args.args;
  XLA_FFI_Buffer** made = (XLA_FFI_Buffer**)call->rets.rets;
  const uint32_t *a = given[0]->data, *b = given[1]->data, *high = given[2]->data, *low = given[3]->data;
  uint32_t *left = made[0]->data, *right = made[1]->data;
  int64_t size = 1;
  for (int64_t axis = 0; axis < given[0]->rank; axis++) size *= given[0]->dims[axis];
  for (int64_t i = 0; i < size; i++) {
    uint32_t p = a[i], q = b[i], r = p ^ q ^ 0x1BD11BDA, x = high[i] + p, y = low[i] + q;
    FIRST, ADD(q, r, 1), SECOND, ADD(r, p, 2), FIRST, ADD(p, q, 3), SECOND, ADD(q, r, 4), FIRST, ADD(r, p, 5);
    left[i] = x, right[i] = y;
  }
  return 0;
}
