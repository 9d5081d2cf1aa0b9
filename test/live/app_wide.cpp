// SPDX-License-Identifier: BSD-3-Clause
//
// Streams of wide characters: app_read and app_write count the bytes in the file.
#include "app_recording.hpp"

#include <clocale>
#include <cstdarg>
#include <cstdio>
#include <cwchar>
#include <iostream>

extern "C" { // headers call these in place of others
int __fwprintf_chk(FILE* stream, int level, const wchar_t* format, ...);
int __vfwprintf_chk(FILE* stream, int level, const wchar_t* format, va_list list);
wchar_t* __fgetws_chk(wchar_t* to, std::size_t room, int size, FILE* stream);
}

namespace iotrail::live {

namespace {

constexpr wchar_t kText[] = L"a\u00e9\u20ac\U0001f600\n"; // 1, 2, 3, 4 and 1 bytes
constexpr int kNoLocale = 2;

int print_list(FILE* stream, const wchar_t* format, ...) {
  va_list list;
  va_start(list, format);
  const int value = vfwprintf(stream, format, list);
  va_end(list);
  return value;
}

int scan_list(FILE* stream, const wchar_t* format, ...) {
  va_list list;
  va_start(list, format);
  const int value = vfwscanf(stream, format, list);
  va_end(list);
  return value;
}

const Child kWideWrites("wide_write", [](const std::string& directory) {
  if (std::setlocale(LC_ALL, "C.UTF-8") == nullptr)
    return kNoLocale;
  FILE* const stream = std::fopen((directory + "/data").c_str(), "w");
  bool ok = true;
  for (const wchar_t* at = kText; *at != 0; ++at)
    ok &= std::fputwc(*at, stream) == static_cast<wint_t>(*at);
  ok &= std::fputws(kText, stream) >= 0 && std::putwc(L'\u00df', stream) == L'\u00df';
  ok &= std::fwprintf(stream, L"%lc%d", L'\u00df', 7) == 2 && print_list(stream, L"%d", 42) == 2 &&
        __fwprintf_chk(stream, 1, L"%d", 9) == 1;
  ok &= std::fclose(stream) == 0;
  FILE* const reader = std::fopen((directory + "/data").c_str(), "r");
  ok &= std::fputwc(L'x', reader) == WEOF;
  return ok ? 0 : 1;
});

const Child kWideReads("wide_read", [](const std::string& directory) {
  if (std::setlocale(LC_ALL, "C.UTF-8") == nullptr)
    return kNoLocale;
  const std::string name = directory + "/data";
  FILE* stream = std::fopen(name.c_str(), "w");
  bool ok = std::fputs("a\u00e9\u20ac\U0001f600\nzwei\u00df\n\u00e9\n12 13 14\n", stream) >= 0 &&
            std::fclose(stream) == 0;
  stream = std::fopen(name.c_str(), "r");
  for (const wchar_t* at = kText; *at != 0; ++at)
    ok &= std::fgetwc(stream) == static_cast<wint_t>(*at);
  wchar_t line[64];
  ok &= std::fgetws(line, 64, stream) == line && std::wcscmp(line, L"zwei\u00df\n") == 0;
  ok &= std::ungetwc(L'\n', stream) == L'\n' && std::getwc(stream) == L'\n';
  ok &= __fgetws_chk(line, 64, 64, stream) == line && std::wcscmp(line, L"\u00e9\n") == 0;
  int number = 0;
  ok &= std::fwscanf(stream, L"%d", &number) == 1 && scan_list(stream, L"%d", &number) == 1;
  ok &= std::fgetws(line, 64, stream) == line && std::fgetwc(stream) == WEOF &&
        std::fgetws(line, 64, stream) == nullptr;
  return ok ? 0 : 1;
});

// Characters beyond ASCII go through a stream that another locale made, or that has its own
// encoding.
const Child kWideMixed("wide_mixed", [](const std::string& directory) {
  FILE* const first = std::fopen((directory + "/data").c_str(), "w");
  bool ok = std::fputws(L"abc", first) >= 0 && std::fputwc(L'\u20ac', first) == L'\u20ac';
  if (std::setlocale(LC_ALL, "C.UTF-8") == nullptr)
    return kNoLocale;
  ok &= std::fputwc(L'\u20ac', first) == L'\u20ac' && std::fputwc(L'a', first) == L'a';
  FILE* const second = std::fopen((directory + "/other").c_str(), "w,ccs=UTF-16LE");
  ok &= std::fputwc(L'a', second) == L'a' && std::fputws(L"bc", second) >= 0;
  return ok && std::fclose(first) == 0 && std::fclose(second) == 0 ? 0 : 1;
});

const Child kWideCout("wide_cout", [](const std::string&) {
  if (std::setlocale(LC_ALL, "C.UTF-8") == nullptr)
    return kNoLocale;
  std::wcout << L"\u00e9t\u00e9\n" << std::flush;
  return std::wcout.good() ? 0 : 1;
});

template <class Event>
void expect_bytes(const std::vector<Event>& events, const std::vector<iot_u32>& calls,
                  const std::vector<iot_s64>& bytes) {
  ASSERT_EQ(events.size(), calls.size());
  for (std::size_t i = 0; i < calls.size(); ++i) {
    EXPECT_EQ(events[i].call, calls[i]) << i;
    EXPECT_EQ(events[i].result, bytes[i]) << i;
    EXPECT_EQ(events[i].offset, IOT_OFFSET_NONE);
    EXPECT_EQ(events[i].file, events[0].file);
  }
}

} // namespace

#define NEED_LOCALE(recording)                                                                     \
  if ((recording).status() == kNoLocale)                                                           \
  GTEST_SKIP() << "there is no locale C.UTF-8"

TEST(app_wide, writes_have_the_bytes_of_the_file) {
  const auto recording = AppRecording::of_child("wide_write");
  NEED_LOCALE(recording);
  expect_complete(recording);
  const auto writes = OF_FILE(recording, app_write, recording.in_directory("data"));
  const iot_u32 put = IOT_app_call_fputwc;
  expect_bytes(writes,
               {put, put, put, put, put, IOT_app_call_fputws, IOT_app_call_putwc,
                IOT_app_call_fwprintf, IOT_app_call_vfwprintf, IOT_app_call___fwprintf_chk, put},
               {1, 2, 3, 4, 1, 11, 2, 0, 0, 0, -EBADF});
  recording.expect_header(writes[0].event, writes[0].duration_ns);
  for (std::size_t i = 0; i < 7; ++i)
    EXPECT_EQ(writes[i].bytes_requested, static_cast<iot_u64>(writes[i].result));
}

TEST(app_wide, reads_have_the_bytes_of_the_file) {
  const auto recording = AppRecording::of_child("wide_read");
  NEED_LOCALE(recording);
  expect_complete(recording);
  const auto reads = OF_FILE(recording, app_read, recording.in_directory("data"));
  const iot_u32 get = IOT_app_call_fgetwc;
  expect_bytes(reads,
               {get, get, get, get, get, IOT_app_call_fgetws, IOT_app_call_getwc,
                IOT_app_call___fgetws_chk, IOT_app_call___isoc99_fwscanf,
                IOT_app_call___isoc99_vfwscanf, IOT_app_call_fgetws, get, IOT_app_call_fgetws},
               {1, 2, 3, 4, 1, 7, 1, 3, 0, 0, 4, 0, 0});
}

TEST(app_wide, bytes_that_are_not_known_are_none) {
  const auto recording = AppRecording::of_child("wide_mixed");
  NEED_LOCALE(recording);
  expect_complete(recording);
  expect_bytes(OF_FILE(recording, app_write, recording.in_directory("data")),
               {IOT_app_call_fputws, IOT_app_call_fputwc, IOT_app_call_fputwc, IOT_app_call_fputwc},
               {3, 0, 0, 1});
  expect_bytes(OF_FILE(recording, app_write, recording.in_directory("other")),
               {IOT_app_call_fputwc, IOT_app_call_fputws}, {0, 0});
}

TEST(app_wide, streams_of_the_c_plus_plus_library_are_seen) {
  RunOptions options;
  const ScratchDirectory outputs;
  options.output = outputs / "out";
  const auto recording = AppRecording::of_child("wide_cout", options);
  NEED_LOCALE(recording);
  expect_complete(recording);
  iot_s64 bytes = 0;
  for (const iot_app_write& write : OF_FILE(recording, app_write, options.output))
    bytes += write.result;
  EXPECT_EQ(bytes, 6);
}

} // namespace iotrail::live
