// SPDX-License-Identifier: BSD-3-Clause
//
// The names of scanf functions in a C library of 2023 or later, for programs in a newer C. The test
// has them on any machine.
#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <wchar.h>

/* As the C library calls its own functions: another library cannot replace them. */
static void* of_libc(const char* name) {
  return dlsym(dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD), name);
}

static int plain_vfscanf(FILE* stream, const char* format, va_list list) {
  int (*scan)(FILE*, const char*, va_list) = of_libc("__isoc99_vfscanf");
  return scan(stream, format, list);
}

static int plain_vfwscanf(FILE* stream, const wchar_t* format, va_list list) {
  int (*scan)(FILE*, const wchar_t*, va_list) = of_libc("__isoc99_vfwscanf");
  return scan(stream, format, list);
}

int __isoc23_vfscanf(FILE* stream, const char* format, va_list list) {
  return plain_vfscanf(stream, format, list);
}

int __isoc23_vscanf(const char* format, va_list list) {
  return plain_vfscanf(stdin, format, list);
}

int __isoc23_vfwscanf(FILE* stream, const wchar_t* format, va_list list) {
  return plain_vfwscanf(stream, format, list);
}

int __isoc23_vwscanf(const wchar_t* format, va_list list) {
  return plain_vfwscanf(stdin, format, list);
}

#define WITH_LIST(call)                                                                            \
  va_list list;                                                                                    \
  va_start(list, format);                                                                          \
  const int value = (call);                                                                        \
  va_end(list);                                                                                    \
  return value

int __isoc23_fscanf(FILE* stream, const char* format, ...) {
  WITH_LIST(plain_vfscanf(stream, format, list));
}

int __isoc23_scanf(const char* format, ...) {
  WITH_LIST(plain_vfscanf(stdin, format, list));
}

int __isoc23_fwscanf(FILE* stream, const wchar_t* format, ...) {
  WITH_LIST(plain_vfwscanf(stream, format, list));
}

int __isoc23_wscanf(const wchar_t* format, ...) {
  WITH_LIST(plain_vfwscanf(stdin, format, list));
}
