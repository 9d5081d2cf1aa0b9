// SPDX-License-Identifier: BSD-3-Clause
//
// Bytes that move through the buffer of a stream without a call: the compiler inlines
// getc_unlocked() and putc_unlocked(). Streams in memory have no file.
#include "app_recording.hpp"

#include <mntent.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <thread>

namespace iotrail::live {

namespace {

constexpr int kLines = 5000;
constexpr int kLineBytes = 10;
constexpr int kWritersLines = 20'000;

std::string lines() {
  std::string text;
  for (int line = 0; line < kLines; ++line)
    text += fmt::format("{:07} x\n", line);
  return text;
}

// The bodies of the inlined calls, which an unoptimised build does not inline.
int put(char byte, FILE* out) {
  return __putc_unlocked_body(byte, out);
}
bool copy_inlined(FILE* in, FILE* out, int bytes) {
  for (int i = 0; i < bytes; ++i) {
    const int byte = __getc_unlocked_body(in);
    if (byte == EOF || put(static_cast<char>(byte), out) == EOF)
      return false;
  }
  return true;
}

// Inlined calls between others, in both directions, with bytes pushed back.
const Child kMixed("app_streams_mixed", [](const std::string& directory) {
  std::ofstream(directory + "/in") << lines();
  FILE* const in = fopen((directory + "/in").c_str(), "r");
  FILE* const out = fopen((directory + "/out").c_str(), "w");
  bool ok = in != nullptr && out != nullptr;
  char line[64];
  for (int i = 0; ok && i < kLines / 2; ++i) {
    ok &= fgets(line, sizeof(line), in) != nullptr && fputs(line, out) >= 0;
    ok &= copy_inlined(in, out, kLineBytes);
    if (i % 1000 == 0)
      ok &= fflush(i % 2000 == 0 ? out : nullptr) == 0;
  }
  ok &= __getc_unlocked_body(in) == EOF && feof(in) != 0;
  ok &= put('e', out) == 'e' && fclose(in) == 0 && fclose(out) == 0;
  return ok ? 0 : 1;
});

// What is in the buffer at exit() belongs to the program too.
const Child kUntilExit("app_streams_exit", [](const std::string& directory) {
  FILE* const out = fopen((directory + "/out").c_str(), "w");
  bool ok = out != nullptr && fputs("begin", out) >= 0;
  for (int i = 0; i < 7; ++i)
    ok &= put('x', out) == 'x';
  // The C library closes this one by itself, and frees it.
  FILE* const mounts = setmntent("/proc/self/mounts", "r");
  ok &= mounts != nullptr && fgetc(mounts) != EOF && endmntent(mounts) == 1;
  return ok ? 0 : 1;
});

const Child kForked("app_streams_forked", [](const std::string& directory) {
  FILE* const out = fopen((directory + "/out").c_str(), "w");
  bool ok = out != nullptr && fputs("parent", out) >= 0 && fflush(out) == 0;
  const pid_t pid = fork();
  if (pid == 0)
    exit(fputs("child", out) >= 0 && put('x', out) == 'x' ? 0 : 1);
  int status = 1;
  ok &= waitpid(pid, &status, 0) == pid && status == 0 && put('y', out) == 'y';
  return ok && fclose(out) == 0 ? 0 : 1;
});

const Child kThreads("app_streams_threads", [](const std::string& directory) {
  FILE* const out = fopen((directory + "/out").c_str(), "w");
  const auto write_lines = [out] {
    for (int i = 0; i < kWritersLines; ++i)
      fprintf(out, "%d\n", i % 10);
  };
  std::thread other(write_lines);
  write_lines();
  other.join();
  return fclose(out) == 0 ? 0 : 1;
});

const Child kWords("app_streams_words", [](const std::string& directory) {
  FILE* const stream = fopen((directory + "/out").c_str(), "w+");
  bool ok = putw(42, stream) == 0 && putw(-1, stream) == 0;
  rewind(stream);
  ok &= getw(stream) == 42 && getw(stream) == -1 && getw(stream) == EOF && fclose(stream) == 0;
  return ok ? 0 : 1;
});

ssize_t take_all(void*, const char*, std::size_t bytes) {
  return static_cast<ssize_t>(bytes);
}

const Child kMemory("app_streams_memory", [](const std::string&) {
  char* text = nullptr;
  std::size_t bytes = 0;
  FILE* const grown = open_memstream(&text, &bytes);
  bool ok = fputs("memory", grown) >= 0 && fclose(grown) == 0 && bytes == 6;
  FILE* const fixed = fmemopen(text, 6, "r");
  char read[8];
  ok &= fgets(read, 5, fixed) != nullptr && fclose(fixed) == 0;
  FILE* const own = fopencookie(nullptr, "w", {nullptr, take_all, nullptr, nullptr});
  ok &= fputs("cookie", own) >= 0 && fclose(own) == 0;
  std::free(text);
  return ok ? 0 : 1;
});

template <class Event> std::int64_t sum(const std::vector<Event>& events) {
  std::int64_t bytes = 0;
  for (const Event& event : events)
    bytes += event.result;
  return bytes;
}

std::int64_t size_of(const std::string& path) {
  return static_cast<std::int64_t>(std::filesystem::file_size(path));
}

std::int64_t bytes_read(const AppRecording& recording, const std::string& path) {
  return sum(OF_FILE(recording, app_read, path));
}
std::int64_t bytes_written(const AppRecording& recording, const std::string& path) {
  return sum(OF_FILE(recording, app_write, path));
}

} // namespace

TEST(app_streams, inlined_calls_between_others) {
  const auto recording = AppRecording::of_child("app_streams_mixed");
  expect_complete(recording);
  EXPECT_EQ(bytes_read(recording, recording.in_directory("in")), kLines * kLineBytes);
  EXPECT_EQ(bytes_written(recording, recording.in_directory("out")),
            size_of(recording.in_directory("out")));
  EXPECT_EQ(sum(OF_CALL(recording, app_read, fgets)), kLines * kLineBytes / 2);
  EXPECT_EQ(sum(OF_CALL(recording, app_read, __uflow)), kLines * kLineBytes / 2);
  EXPECT_EQ(sum(OF_CALL(recording, app_write, __overflow)), kLines * kLineBytes / 2 + 1);
}

TEST(app_streams, inlined_calls_until_exit) {
  const auto recording = AppRecording::of_child("app_streams_exit");
  expect_complete(recording);
  EXPECT_EQ(size_of(recording.in_directory("out")), 12);
  EXPECT_EQ(bytes_written(recording, recording.in_directory("out")), 12);
}

TEST(app_streams, forked_child_begins_anew) {
  const auto recording = AppRecording::of_child("app_streams_forked");
  expect_complete(recording);
  EXPECT_EQ(size_of(recording.in_directory("out")), 13);
  EXPECT_EQ(bytes_written(recording, recording.in_directory("out")), 13);
}

TEST(app_streams, calls_of_other_threads_are_not_taken_for_inlined_ones) {
  const auto recording = AppRecording::of_child("app_streams_threads");
  expect_complete(recording);
  EXPECT_EQ(bytes_written(recording, recording.in_directory("out")), 4 * kWritersLines);
  EXPECT_EQ(OF_CALL(recording, app_write, __overflow).size(), 0U);
}

TEST(app_streams, words) {
  const auto recording = AppRecording::of_child("app_streams_words");
  expect_complete(recording);
  EXPECT_EQ(bytes_written(recording, recording.in_directory("out")), 8);
  EXPECT_EQ(bytes_read(recording, recording.in_directory("out")), 8);
  EXPECT_EQ(OF_CALL(recording, app_read, getw).at(2).result, 0);
}

TEST(app_streams, in_memory) {
  const auto recording = AppRecording::of_child("app_streams_memory");
  expect_complete(recording);
  EXPECT_EQ(bytes_written(recording, "memory:[stream]"), 12);
  EXPECT_EQ(bytes_read(recording, "memory:[stream]"), 4);
  for (const iot_app_write& event : ALL(recording, app_write)) {
    EXPECT_EQ(event.fd, IOT_NO_FD);
    EXPECT_NE(event.file, 0U);
  }
}

// Each reads and writes by inlined calls, alone or with others.
TEST(app_streams, programs_that_inline) {
  ScratchDirectory directory;
  const std::string in = directory / "in";
  const std::string out = directory / "out";
  std::ofstream(in) << lines();
  const std::vector<std::vector<std::string>> commands = {
      {"cut", "-c1-5", in}, {"uniq", in},     {"nl", in},           {"fold", "-w", "3", in},
      {"paste", in, in},    {"join", in, in}, {"tr", "a-z", "A-Z"}, {"od", "-c", in}};
  for (const std::vector<std::string>& command : commands) {
    SCOPED_TRACE(command.front());
    RunOptions options;
    options.output = out;
    const auto recording = AppRecording::of_command(command, options);
    ASSERT_EQ(recording.status(), 0);
    EXPECT_EQ(recording.lost(), 0U);
    const auto opened = static_cast<std::int64_t>(std::ranges::count(command, in));
    EXPECT_EQ(bytes_read(recording, in), opened * kLines * kLineBytes);
    EXPECT_EQ(bytes_written(recording, out), size_of(out));
  }
}

} // namespace iotrail::live
