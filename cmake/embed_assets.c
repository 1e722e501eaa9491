/* Converts script and style to C at build time: joins modules, hashes them, writes them as text.
 *
 * usage: embed OUTPUT (NAME=FILE,FILE..)...
 * Each NAME becomes `const char page_NAME[]`, and `page_NAME_hash[]` the 'sha256-..' that a content
 * security policy needs. Files that end in .mjs are modules: they are joined in their order inside
 * one function, without their import lines and the word export. A file named LICENSE.* becomes a
 * comment. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct text {
    char *bytes;
    size_t size, capacity;
} text;

static void die(const char *what, const char *of)
{
    fprintf(stderr, "embed: %s: %s\n", of, what);
    exit(1);
}

static void add(text *t, const void *bytes, size_t size)
{
    if (size > SIZE_MAX / 8 || t->size > SIZE_MAX / 8)
        die("too large", "text");
    if (t->size + size + 1 > t->capacity) {
        t->capacity = 2 * (t->size + size) + 4096;
        t->bytes = realloc(t->bytes, t->capacity);
        if (t->bytes == NULL)
            die("no memory", "text");
    }
    memcpy(t->bytes + t->size, bytes, size);
    t->size += size;
    t->bytes[t->size] = '\0';
}

/* ---- SHA-256 (FIPS 180-4) -------------------------------------------------------------------- */

static uint32_t turn(uint32_t x, int by)
{
    return x >> by | x << (32 - by);
}

/* The first 32 bits of the fractions of a root: the standard's constants, computed. */
static uint32_t fraction_of_root(unsigned prime, int root)
{
    uint64_t scaled = 0; /* the largest integer whose power is at most prime 2^(32 root) */
    for (int bit = 36; bit >= 0; bit--) {
        uint64_t larger = scaled | (uint64_t)1 << bit;
        long double x = (long double)larger / 4294967296.0L;
        long double power = root == 2 ? x * x : x * x * x;
        if (power <= (long double)prime)
            scaled = larger;
    }
    return (uint32_t)scaled;
}

static void constants(uint32_t first[8], uint32_t k[64])
{
    int found = 0;
    for (unsigned n = 2; found < 64; n++) {
        bool prime = true;
        for (unsigned d = 2; d * d <= n; d++)
            prime = prime && n % d != 0;
        if (!prime)
            continue;
        if (found < 8)
            first[found] = fraction_of_root(n, 2);
        k[found++] = fraction_of_root(n, 3);
    }
}

static void digest_block(uint32_t h[8], const uint32_t k[64], const unsigned char *block)
{
    uint32_t w[64], s[8];
    for (size_t i = 0; i < 16; i++)
        w[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 |
               (uint32_t)block[4 * i + 2] << 8 | block[4 * i + 3];
    for (int i = 16; i < 64; i++)
        w[i] = w[i - 16] + w[i - 7] + (turn(w[i - 15], 7) ^ turn(w[i - 15], 18) ^ w[i - 15] >> 3) +
               (turn(w[i - 2], 17) ^ turn(w[i - 2], 19) ^ w[i - 2] >> 10);
    memcpy(s, h, sizeof s);
    for (int i = 0; i < 64; i++) {
        uint32_t one = s[7] + (turn(s[4], 6) ^ turn(s[4], 11) ^ turn(s[4], 25)) +
                       ((s[4] & s[5]) ^ (~s[4] & s[6])) + k[i] + w[i];
        uint32_t two = (turn(s[0], 2) ^ turn(s[0], 13) ^ turn(s[0], 22)) +
                       ((s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]));
        memmove(s + 1, s, 7 * sizeof *s);
        s[4] += one;
        s[0] = one + two;
    }
    for (int i = 0; i < 8; i++)
        h[i] += s[i];
}

static void sha256(const text *t, unsigned char digest[32])
{
    uint32_t h[8], k[64];
    text padded = {0};
    constants(h, k);
    add(&padded, t->bytes, t->size);
    add(&padded, "\x80", 1);
    while (padded.size % 64 != 56)
        add(&padded, "\0", 1);
    for (int i = 7; i >= 0; i--) {
        unsigned char byte = (unsigned char)((uint64_t)t->size * 8 >> 8 * i);
        add(&padded, &byte, 1);
    }
    for (size_t i = 0; i < padded.size; i += 64)
        digest_block(h, k, (const unsigned char *)padded.bytes + i);
    free(padded.bytes);
    for (int i = 0; i < 32; i++)
        digest[i] = (unsigned char)(h[i / 4] >> (24 - 8 * (i % 4)));
}

static void print_hash(FILE *out, const text *t)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    unsigned char x[33] = {0};
    sha256(t, x);
    fputs("'sha256-", out);
    for (int i = 0; i < 33; i += 3) {
        unsigned group = (unsigned)x[i] << 16 | (unsigned)x[i + 1] << 8 | x[i + 2];
        for (int d = 3; d >= 0; d--)
            fputc(i == 30 && d == 0 ? '=' : digits[group >> 6 * d & 63], out);
    }
    fputc('\'', out);
}

/* ---- files ----------------------------------------------------------------------------------- */

static text slurp(const char *path)
{
    text t = {0};
    char block[4096];
    size_t n;
    FILE *in = fopen(path, "rb");
    if (in == NULL)
        die("cannot be read", path);
    while ((n = fread(block, 1, sizeof block, in)) > 0)
        add(&t, block, n);
    fclose(in);
    return t;
}

static bool starts(const char *line, const char *with)
{
    return strncmp(line, with, strlen(with)) == 0;
}

/* An import begins on a new line and ends with the next semicolon, perhaps on a later line. */
static void add_module(text *t, const text *module)
{
    bool importing = false;
    for (const char *line = module->bytes; *line != '\0';) {
        size_t length = strcspn(line, "\n");
        importing = importing || starts(line, "import ");
        size_t skip = starts(line, "export ") ? strlen("export ") : 0;
        if (!importing && skip < length)
            add(t, line + skip, length - skip);
        add(t, "\n", 1);
        importing = importing && memchr(line, ';', length) == NULL;
        line += length + (line[length] == '\n');
    }
}

/* C strings of at most 80 bytes per line, which every compiler accepts. */
static void print_text(FILE *out, const char *name, const text *t)
{
    fprintf(out, "const char page_%s[] =\n", name);
    for (size_t i = 0; i < t->size; i += 80) {
        fputs("    \"", out);
        for (size_t j = i; j < t->size && j < i + 80; j++) {
            unsigned char c = (unsigned char)t->bytes[j];
            if (c == '"' || c == '\\' || c == '?')
                fprintf(out, "\\%c", c);
            else if (c < 32 || c > 126)
                fprintf(out, "\\%03o", c);
            else
                fputc(c, out);
        }
        fputs("\"\n", out);
    }
    fprintf(out, "    ;\nconst char page_%s_hash[] = \"", name);
    print_hash(out, t);
    fputs("\";\n", out);
}

int main(int argc, char **argv)
{
    FILE *out = argc > 2 ? fopen(argv[1], "wb") : NULL;
    if (out == NULL)
        die("cannot be written", argc > 1 ? argv[1] : "output");
    fputs("/* Made by cmake/embed_assets.c from report/assets and report/vendor. */\n"
          "extern const char page_style[], page_library[], page_script[];\n"
          "extern const char page_style_hash[], page_library_hash[], page_script_hash[];\n",
          out);
    for (int i = 2; i < argc; i++) {
        static const char opening[] = "(function () {\n\"use strict\";\n";
        char *equals = strchr(argv[i], '=');
        text t = {0};
        if (equals == NULL)
            die("NAME=FILE,.. is needed", argv[i]);
        *equals = '\0';
        bool modules = strstr(equals + 1, ".mjs") != NULL;
        if (modules)
            add(&t, opening, strlen(opening));
        char *rest = NULL;
        for (char *path = strtok_r(equals + 1, ",", &rest); path != NULL;
             path = strtok_r(NULL, ",", &rest)) {
            text file = slurp(path);
            bool licence = strstr(path, "/LICENSE.") != NULL;
            if (modules)
                add_module(&t, &file);
            else {
                add(&t, "/*\n", licence ? 3 : 0);
                add(&t, file.bytes, file.size);
                add(&t, "*/\n", licence ? 3 : 0);
            }
            free(file.bytes);
        }
        if (modules)
            add(&t, "})();\n", 6);
        if (t.bytes == NULL)
            die("is empty", argv[i]);
        if (strstr(t.bytes, "</script") != NULL || strstr(t.bytes, "</style") != NULL)
            die("would end its element", argv[i]);
        print_text(out, argv[i], &t);
        free(t.bytes);
    }
    return fclose(out) == 0 ? 0 : 1;
}
