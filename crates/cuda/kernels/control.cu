// Formula:  (position, done, draws) := arguments;  position := position + 1.
// Shapes:   one Control.
// Bytes:    24.
// Geometry: one thread.

extern "C" __global__ void begin(Control* c, int position, u64 draws) {
    c->position = position;
    c->done = 0;
    c->token = 0;
    c->draws = draws;
}

// After a step of decode: the sampled token is now part of the sequence.
extern "C" __global__ void advance(Control* c) {
    if (!c->done) c->position += 1;
}
