// SPDX-License-Identifier: BSD-3-Clause
//
// Programs built with a newer C library call functions that this machine's library may lack:
// newer_libc.c has them.
#include "app_recording.hpp"

#include <cstdarg>
#include <cstdio>
#include <fstream>

// NOLINTBEGIN(bugprone-reserved-identifier): the C library's own names
extern "C" {
int __isoc23_vfscanf(FILE* stream, const char* format, va_list list);
int __isoc23_vscanf(const char* format, va_list list);
int __isoc23_vfwscanf(FILE* stream, const wchar_t* format, va_list list);
int __isoc23_vwscanf(const wchar_t* format, va_list list);
int __isoc23_fscanf(FILE* stream, const char* format, ...);
int __isoc23_scanf(const char* format, ...);
int __isoc23_fwscanf(FILE* stream, const wchar_t* format, ...);
int __isoc23_wscanf(const wchar_t* format, ...);
}

namespace iotrail::live {

namespace {

template <class Character>
int scan_with(int (*scan)(const Character*, va_list), const Character* format, ...) {
  va_list list;
  va_start(list, format);
  const int value = scan(format, list);
  va_end(list);
  return value;
}

template <class Character>
int scan_with(int (*scan)(FILE*, const Character*, va_list), const Character* format, ...) {
  va_list list;
  va_start(list, format);
  const int value = scan(stdin, format, list);
  va_end(list);
  return value;
}

const Child kNarrow("newer_scanf", [](const std::string& directory) {
  const std::string name = directory + "/data";
  std::ofstream(name) << "1 22 333 4444";
  bool ok = freopen(name.c_str(), "r", stdin) == stdin;
  int numbers[4] = {};
  ok &= __isoc23_scanf("%d", &numbers[0]) == 1 && __isoc23_fscanf(stdin, "%d", &numbers[1]) == 1;
  ok &= scan_with(__isoc23_vscanf, "%d", &numbers[2]) == 1 &&
        scan_with(__isoc23_vfscanf, "%d", &numbers[3]) == 1;
  return ok && numbers[0] == 1 && numbers[1] == 22 && numbers[2] == 333 && numbers[3] == 4444 ? 0
                                                                                              : 1;
});

const Child kWide("newer_wscanf", [](const std::string& directory) {
  const std::string name = directory + "/data";
  std::ofstream(name) << "1 22 333 4444";
  bool ok = freopen(name.c_str(), "r", stdin) == stdin;
  int numbers[4] = {};
  ok &=
      __isoc23_wscanf(L"%d", &numbers[0]) == 1 && __isoc23_fwscanf(stdin, L"%d", &numbers[1]) == 1;
  ok &= scan_with(__isoc23_vwscanf, L"%d", &numbers[2]) == 1 &&
        scan_with(__isoc23_vfwscanf, L"%d", &numbers[3]) == 1;
  return ok && numbers[0] == 1 && numbers[1] == 22 && numbers[2] == 333 && numbers[3] == 4444 ? 0
                                                                                              : 1;
});

void expect_calls(const char* child, const std::vector<iot_u32>& calls,
                  const std::vector<iot_s64>& results) {
  const auto recording = AppRecording::of_child(child);
  expect_complete(recording);
  std::vector<iot_u32> found;
  std::vector<iot_s64> found_results;
  for (const iot_app_read& read : OF_FILE(recording, app_read, recording.in_directory("data"))) {
    found.push_back(read.call);
    found_results.push_back(read.result);
  }
  EXPECT_EQ(found, calls);
  EXPECT_EQ(found_results, results);
}

} // namespace

TEST(app_newer_calls, formatted_reads) {
  expect_calls("newer_scanf",
               {IOT_app_call___isoc23_scanf, IOT_app_call___isoc23_fscanf,
                IOT_app_call___isoc23_vscanf, IOT_app_call___isoc23_vfscanf},
               {1, 3, 4, 5});
}

// The bytes of formatted wide characters are unknown.
TEST(app_newer_calls, formatted_reads_of_wide_characters) {
  expect_calls("newer_wscanf",
               {IOT_app_call___isoc23_wscanf, IOT_app_call___isoc23_fwscanf,
                IOT_app_call___isoc23_vwscanf, IOT_app_call___isoc23_vfwscanf},
               {0, 0, 0, 0});
}

} // namespace iotrail::live
