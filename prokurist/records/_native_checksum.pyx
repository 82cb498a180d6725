# cython: language_level=3, auto_pickle=False
"""The native twin of `prokurist.records.pure_checksum`; see `checksum`.

Thread: either. The tables are made when the module is imported, and never change.

Processors with an instruction for this polynomial (SSE 4.2, ARMv8's CRC extension) take three
stretches of a long input at once, since one instruction waits three cycles for the one before.
The checksum of the whole is put together by tables that move a checksum past a stretch of
zeros. Without the instruction, eight tables take eight bytes a step.
"""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from libc.stdint cimport uint32_t

cdef extern from *:
    """
    #include <stdint.h>
    #include <stddef.h>
    #include <string.h>

    #if defined(__GNUC__) && defined(__x86_64__)
    #  include <nmmintrin.h>
    /* For clang the instruction is a feature of its own, which a baseline may leave out, as zig's
       does; older compilers do not know its name. */
    #  if defined(__clang__)
    #    define CRC_TARGET __attribute__((target("sse4.2,crc32")))
    #  else
    #    define CRC_TARGET __attribute__((target("sse4.2")))
    #  endif
    #  define CRC_STEP8(crc, word) ((uint32_t)_mm_crc32_u64((crc), (word)))
    #  define CRC_STEP1(crc, byte) (_mm_crc32_u8((crc), (byte)))
    #  define CRC_HAS_INSTRUCTION() __builtin_cpu_supports("sse4.2")
    #elif defined(__GNUC__) && defined(__aarch64__)
    #  if defined(__linux__)
    #    include <sys/auxv.h>
    #    define CRC_HAS_INSTRUCTION() ((getauxval(AT_HWCAP) >> 7) & 1)
    #  elif defined(__APPLE__)
    #    define CRC_HAS_INSTRUCTION() 1
    #  else
    #    define CRC_HAS_INSTRUCTION() 0
    #  endif
    #  define CRC_TARGET
    static inline uint32_t crc_word(uint32_t crc, uint64_t word) {
        __asm__(".arch_extension crc\\n\\tcrc32cx %w0, %w0, %x1" : "+r"(crc) : "r"(word));
        return crc;
    }
    static inline uint32_t crc_byte(uint32_t crc, uint8_t byte) {
        __asm__(".arch_extension crc\\n\\tcrc32cb %w0, %w0, %w1" : "+r"(crc) : "r"(byte));
        return crc;
    }
    #  define CRC_STEP8(crc, word) crc_word((crc), (word))
    #  define CRC_STEP1(crc, byte) crc_byte((crc), (byte))
    #endif

    #define CRC_LONG 8192
    #define CRC_SHORT 256

    static uint32_t crc_tables[8][256];
    static uint32_t crc_past_long[4][256], crc_past_short[4][256];
    static int crc_instruction;

    /* The product of two polynomials modulo CRC-32C's; bit 31 is the constant term. */
    static uint32_t crc_product(uint32_t a, uint32_t b) {
        uint32_t product = 0;
        for (int bit = 31; bit >= 0; bit--) {
            if ((a >> bit) & 1) product ^= b;
            b = (b >> 1) ^ ((b & 1) ? 0x82F63B78u : 0);
        }
        return product;
    }

    static void crc_fill_past(uint32_t past[4][256], size_t bytes) {
        uint32_t power = 0x80000000u;  /* 1, and then x to the number of bits of the stretch */
        for (size_t bit = 0; bit < bytes * 8; bit++)
            power = (power >> 1) ^ ((power & 1) ? 0x82F63B78u : 0);
        for (int place = 0; place < 4; place++)
            for (uint32_t value = 0; value < 256; value++)
                past[place][value] = crc_product(value << (8 * place), power);
    }

    static void crc_fill(void) {
        for (uint32_t value = 0; value < 256; value++) {
            uint32_t crc = value;
            for (int bit = 0; bit < 8; bit++)
                crc = (crc >> 1) ^ ((crc & 1) ? 0x82F63B78u : 0);
            crc_tables[0][value] = crc;
        }
        for (int table = 1; table < 8; table++)
            for (uint32_t value = 0; value < 256; value++) {
                uint32_t crc = crc_tables[table - 1][value];
                crc_tables[table][value] = (crc >> 8) ^ crc_tables[0][crc & 255];
            }
        crc_fill_past(crc_past_long, CRC_LONG);
        crc_fill_past(crc_past_short, CRC_SHORT);
    #ifdef CRC_HAS_INSTRUCTION
        crc_instruction = CRC_HAS_INSTRUCTION() != 0;
    #endif
    }

    static uint32_t crc_by_tables(uint32_t crc, const uint8_t *at, size_t left) {
        while (left >= 8) {
            uint32_t low = crc ^ ((uint32_t)at[0] | (uint32_t)at[1] << 8
                                  | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24);
            crc = crc_tables[7][low & 255] ^ crc_tables[6][(low >> 8) & 255]
                ^ crc_tables[5][(low >> 16) & 255] ^ crc_tables[4][low >> 24]
                ^ crc_tables[3][at[4]] ^ crc_tables[2][at[5]]
                ^ crc_tables[1][at[6]] ^ crc_tables[0][at[7]];
            at += 8;
            left -= 8;
        }
        while (left--) crc = (crc >> 8) ^ crc_tables[0][(crc ^ *at++) & 255];
        return crc;
    }

    #ifdef CRC_STEP8
    static inline uint32_t crc_past(uint32_t past[4][256], uint32_t crc) {
        return past[0][crc & 255] ^ past[1][(crc >> 8) & 255]
             ^ past[2][(crc >> 16) & 255] ^ past[3][crc >> 24];
    }

    CRC_TARGET static inline uint32_t crc_of_three(
        uint32_t crc, const uint8_t *at, size_t stretch, uint32_t past[4][256]
    ) {
        uint32_t second = 0, third = 0;
        for (size_t here = 0; here < stretch; here += 8) {
            uint64_t a, b, c;
            memcpy(&a, at + here, 8);
            memcpy(&b, at + stretch + here, 8);
            memcpy(&c, at + 2 * stretch + here, 8);
            crc = CRC_STEP8(crc, a);
            second = CRC_STEP8(second, b);
            third = CRC_STEP8(third, c);
        }
        return crc_past(past, crc_past(past, crc) ^ second) ^ third;
    }

    CRC_TARGET static uint32_t crc_by_instruction(uint32_t crc, const uint8_t *at, size_t left) {
        for (; left >= 3 * CRC_LONG; at += 3 * CRC_LONG, left -= 3 * CRC_LONG)
            crc = crc_of_three(crc, at, CRC_LONG, crc_past_long);
        for (; left >= 3 * CRC_SHORT; at += 3 * CRC_SHORT, left -= 3 * CRC_SHORT)
            crc = crc_of_three(crc, at, CRC_SHORT, crc_past_short);
        for (; left >= 8; at += 8, left -= 8) {
            uint64_t word;
            memcpy(&word, at, 8);
            crc = CRC_STEP8(crc, word);
        }
        while (left--) crc = CRC_STEP1(crc, *at++);
        return crc;
    }
    #endif

    static uint32_t crc_of(uint32_t crc, const void *data, size_t size, int by_tables) {
        crc = ~crc;
    #ifdef CRC_STEP8
        if (crc_instruction && !by_tables)
            return ~crc_by_instruction(crc, (const uint8_t *)data, size);
    #endif
        return ~crc_by_tables(crc, (const uint8_t *)data, size);
    }
    """
    void crc_fill()
    uint32_t crc_of(uint32_t crc, const void *data, size_t size, int by_tables) nogil
    int crc_instruction

crc_fill()

HAS_INSTRUCTION = bool(crc_instruction)
"""Whether the processor has an instruction for it."""

cdef Py_ssize_t LARGE = 32 * 1024
"""Bytes from which on the GIL is released."""


cdef uint32_t checked(data, uint32_t value, bint by_tables) except? 0:
    cdef Py_buffer view
    cdef uint32_t crc
    PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
    try:
        if view.len < LARGE:
            crc = crc_of(value, view.buf, view.len, by_tables)
        else:
            with nogil:
                crc = crc_of(value, view.buf, view.len, by_tables)
    finally:
        PyBuffer_Release(&view)
    return crc


def crc32c(data, uint32_t value=0, /):
    """The CRC-32C of bytes, behind others whose checksum is `value`."""
    return checked(data, value, False)


def crc32c_by_tables(data, uint32_t value=0, /):
    """The same without the processor's instruction, for tests and other processors."""
    return checked(data, value, True)
