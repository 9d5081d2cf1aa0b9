// SPDX-License-Identifier: BSD-3-Clause
#include "app_recording.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <fstream>

namespace iotrail::live {

namespace {

constexpr int kFd = 77;

const Child kReads("app_read", [](const std::string& directory) {
  const std::string name = directory + "/data";
  std::ofstream(name) << "first line\nsecond line\n";
  const int file = open(name.c_str(), O_RDONLY);
  dup2(file, kFd);
  char bytes[64];
  bool ok =
      read(kFd, bytes, 64) == 23 && pread(kFd, bytes, 6, 17) == 6 && pread(-1, bytes, 6, 0) == -1;
  iovec parts[2] = {{bytes, 4}, {bytes + 4, 40}};
  ok &= preadv(kFd, parts, 2, 0) == 23;
  return ok ? 0 : 1;
});

const Child kStreams("app_read_stream", [](const std::string& directory) {
  const std::string name = directory + "/data";
  std::ofstream(name) << "first line\nsecond line\n12 x\n";
  FILE* const stream = fopen(name.c_str(), "r");
  char bytes[64];
  char* line = nullptr;
  std::size_t room = 0;
  // The header may call another function instead.
  ssize_t (*volatile line_of)(char**, std::size_t*, FILE*) = getline;
  bool ok = fgetc(stream) == 'f' && fgets(bytes, 32, stream) != nullptr &&
            line_of(&line, &room, stream) == 12;
  int number = 0;
  ok &= fscanf(stream, "%d", &number) == 1 && number == 12;
  ok &= fread(bytes, 4, 10, stream) == 0 && feof(stream) != 0;
  std::free(line);
  return ok && fclose(stream) == 0 ? 0 : 1;
});

int scan_input(const char* format, ...) {
  va_list list;
  va_start(list, format);
  const int value = vscanf(format, list);
  va_end(list);
  return value;
}

const Child kInput("app_read_input", [](const std::string& directory) {
  const std::string name = directory + "/data";
  std::ofstream(name) << "12 13 x\n";
  int number = 0;
  const bool ok = freopen(name.c_str(), "r", stdin) == stdin && scanf("%d", &number) == 1 &&
                  scan_input("%d", &number) == 1 && scan_input("%d", &number) == 0;
  return ok && number == 13 ? 0 : 1;
});

// The descriptor that one might take for the stream's belongs to another file.
const Child kMemoryStream("app_memory_stream", [](const std::string& directory) {
  const int file = open((directory + "/data").c_str(), O_CREAT | O_RDWR, 0600);
  bool ok = file >= 0 && dup2(file, STDIN_FILENO) == STDIN_FILENO;
  char* text = nullptr;
  std::size_t bytes = 0;
  FILE* const stream = open_memstream(&text, &bytes);
  ok &= fputs("memory", stream) >= 0 && fclose(stream) == 0 && bytes == 6;
  std::free(text);
  return ok ? 0 : 1;
});

} // namespace

TEST(app_read, a_stream_in_memory_is_of_no_file_of_the_disk) {
  const auto recording = AppRecording::of_child("app_memory_stream");
  expect_complete(recording);
  const auto writes = recording.all<iot_app_write>(IOT_KIND_app_write);
  for (const iot_app_write& write : writes) {
    EXPECT_EQ(write.fd, -1);
    EXPECT_EQ(recording.file(write.file).path, "memory:[stream]");
  }
}

TEST(app_read, descriptors) {
  const auto recording = AppRecording::of_child("app_read");
  expect_complete(recording);
  const auto reads = OF_FILE(recording, app_read, recording.in_directory("data"));
  ASSERT_EQ(reads.size(), 3U);
  struct stat attributes{};
  ASSERT_EQ(stat(recording.in_directory("data").c_str(), &attributes), 0);
  const rows::files& file = recording.file(reads[0].file);
  EXPECT_EQ(file.inode, attributes.st_ino);
  EXPECT_EQ(file.device, major(attributes.st_dev) << 20U | minor(attributes.st_dev));
  EXPECT_EQ(file.mode, attributes.st_mode);
  const iot_s64 offsets[] = {IOT_OFFSET_NONE, 17, 0};
  const iot_u64 asked[] = {64, 6, 44};
  const iot_s64 results[] = {23, 6, 23};
  const iot_u32 calls[] = {IOT_app_call_read, IOT_app_call_pread, IOT_app_call_preadv};
  for (std::size_t i = 0; i < 3; ++i) {
    recording.expect_header(reads[i].event, reads[i].duration_ns);
    EXPECT_EQ(reads[i].offset, offsets[i]);
    EXPECT_EQ(reads[i].bytes_requested, asked[i]);
    EXPECT_EQ(reads[i].result, results[i]);
    EXPECT_EQ(reads[i].file, reads[0].file);
    EXPECT_EQ(reads[i].fd, kFd);
    EXPECT_EQ(reads[i].call, calls[i]);
  }
  EXPECT_LT(reads[0].event.op_id, reads[1].event.op_id);
  const auto failed = OF_CALL(recording, app_read, pread);
  ASSERT_EQ(failed.size(), 2U);
  EXPECT_EQ(failed[1].result, -EBADF);
  EXPECT_EQ(failed[1].fd, -1);
  EXPECT_EQ(failed[1].file, 0U);
}

TEST(app_read, streams_stand_alone) {
  const auto recording = AppRecording::of_child("app_read_stream");
  expect_complete(recording);
  const auto reads = OF_FILE(recording, app_read, recording.in_directory("data"));
  ASSERT_EQ(reads.size(), 5U);
  const iot_u32 calls[] = {IOT_app_call_fgetc, IOT_app_call_fgets, IOT_app_call_getline,
                           IOT_app_call___isoc99_fscanf, IOT_app_call_fread};
  const iot_u64 asked[] = {1, 31, 0, 0, 40};
  const iot_s64 results[] = {1, 10, 12, 2, 0};
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(reads[i].call, calls[i]);
    EXPECT_EQ(reads[i].bytes_requested, asked[i]);
    EXPECT_EQ(reads[i].result, results[i]);
    EXPECT_EQ(reads[i].offset, IOT_OFFSET_NONE);
  }
}

TEST(app_read, formatted_from_standard_input) {
  const auto recording = AppRecording::of_child("app_read_input");
  expect_complete(recording);
  const auto reads = OF_FILE(recording, app_read, recording.in_directory("data"));
  ASSERT_EQ(reads.size(), 3U);
  const iot_u32 calls[] = {IOT_app_call___isoc99_scanf, IOT_app_call___isoc99_vscanf,
                           IOT_app_call___isoc99_vscanf};
  // The last one has read the space before a word that is no number.
  const iot_s64 results[] = {2, 3, 1};
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(reads[i].call, calls[i]);
    EXPECT_EQ(reads[i].result, results[i]);
    EXPECT_EQ(reads[i].fd, 0);
  }
}

} // namespace iotrail::live
