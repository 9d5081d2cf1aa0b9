// SPDX-License-Identifier: BSD-3-Clause
//
// app_open, app_close, app_write, app_seek, app_sync, app_truncate.
#include "app_recording.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cstdio>

namespace iotrail::live {

namespace {

const Child kOpens("app_open", [](const std::string& directory) {
  const std::string name = directory + "/data";
  const int file = open(name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0640);
  const int parent = open(directory.c_str(), O_RDONLY | O_DIRECTORY);
  const int again = openat(parent, "data", O_RDONLY);
  const int none = open((directory + "/absent").c_str(), O_RDONLY);
  const int bad = open(reinterpret_cast<const char*>(8), O_RDONLY);
  FILE* const stream = fopen(name.c_str(), "a+e");
  const bool ok = file >= 0 && again >= 0 && none == -1 && bad == -1 && errno == EFAULT;
  return ok && fclose(stream) == 0 && close(again) == 0 && close(again) == -1 ? 0 : 1;
});

const Child kSharedMemory("shm_open", [](const std::string&) {
  const std::string name = "/iotrail-" + std::to_string(getpid());
  const int memory = shm_open(name.c_str(), O_RDWR | O_CREAT | O_EXCL, 0600);
  const int again = shm_open(name.c_str(), O_RDWR | O_CREAT | O_EXCL, 0600);
  const bool ok = memory >= 0 && again == -1 && errno == EEXIST && ftruncate(memory, 4096) == 0;
  return shm_unlink(name.c_str()) == 0 && ok ? 0 : 1;
});

const Child kWrites("app_write", [](const std::string& directory) {
  const std::string name = directory + "/data";
  FILE* const stream = fopen(name.c_str(), "w");
  bool ok = fwrite("abcdefgh", 4, 2, stream) == 2 && fputs("12345", stream) >= 0 &&
            fputc('x', stream) == 'x' && fprintf(stream, "%d,%s", 42, "end") == 6;
  ok &= fclose(stream) == 0;
  const int file = open(name.c_str(), O_RDWR);
  char bytes[] = "0123456789";
  const iovec parts[3] = {{bytes, 1}, {bytes, 2}, {bytes, 3}};
  ok &= write(file, bytes, 10) == 10 && pwrite(file, bytes, 4, 100) == 4 &&
        pwritev(file, parts, 3, 200) == 6 && dprintf(file, "%s", "abc") == 3;
  const int read_only = open(name.c_str(), O_RDONLY);
  ok &= writev(read_only, parts, 3) == -1;
  return ok ? 0 : 1;
});

const Child kSeeks("app_seek", [](const std::string& directory) {
  const std::string name = directory + "/data";
  const int file = open(name.c_str(), O_RDWR | O_CREAT, 0600);
  bool ok = write(file, "0123456789", 10) == 10 && lseek(file, -3, SEEK_END) == 7 &&
            lseek(file, -1, SEEK_SET) == -1;
  FILE* const stream = fdopen(file, "r+");
  ok &= fseek(stream, 4, SEEK_SET) == 0 && ftell(stream) == 4;
  rewind(stream);
  return ok ? 0 : 1;
});

const Child kSyncs("app_sync", [](const std::string& directory) {
  const std::string name = directory + "/data";
  const int file = open(name.c_str(), O_RDWR | O_CREAT, 0600);
  bool ok = write(file, "0123456789", 10) == 10 && fsync(file) == 0 && fdatasync(file) == 0 &&
            sync_file_range(file, 2, 4, SYNC_FILE_RANGE_WRITE) == 0;
  FILE* const stream = fdopen(file, "r+");
  ok &= fflush(stream) == 0 && fsync(-1) == -1;
  return ok ? 0 : 1;
});

const Child kTruncates("app_truncate", [](const std::string& directory) {
  const std::string name = directory + "/data";
  const int file = open(name.c_str(), O_RDWR | O_CREAT, 0600);
  const bool ok = ftruncate(file, 5000) == 0 && truncate(name.c_str(), 100) == 0 &&
                  fallocate(file, FALLOC_FL_KEEP_SIZE, 4096, 8192) == 0 &&
                  posix_fallocate(file, 0, 10) == 0 && posix_fallocate(-1, 0, 10) == EBADF &&
                  truncate((directory + "/absent").c_str(), 1) == -1;
  return ok ? 0 : 1;
});

} // namespace

TEST(app_open, files_and_failures) {
  const auto recording = AppRecording::of_child("app_open");
  expect_complete(recording);
  const std::string name = recording.in_directory("data");
  const auto opens = OF_FILE(recording, app_open, name);
  ASSERT_EQ(opens.size(), 3U);
  const iot_u32 flags[] = {O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, O_RDONLY,
                           O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC};
  const iot_u32 modes[] = {0640, 0, 0666};
  const iot_u32 calls[] = {IOT_app_call_open, IOT_app_call_openat, IOT_app_call_fopen};
  for (std::size_t i = 0; i < 3; ++i) {
    recording.expect_header(opens[i].event, opens[i].duration_ns);
    EXPECT_GE(opens[i].result, 3);
    EXPECT_EQ(opens[i].file, opens[0].file);
    EXPECT_EQ(recording.text(opens[i].path), i == 1 ? "data" : name);
    EXPECT_EQ(opens[i].fd, i == 1 ? opens[0].result + 1 : AT_FDCWD);
    EXPECT_EQ(opens[i].flags, flags[i]);
    EXPECT_EQ(opens[i].mode, modes[i]);
    EXPECT_EQ(opens[i].call, calls[i]);
  }
  const auto absent = OF_PATH(recording, app_open, recording.in_directory("absent"));
  ASSERT_EQ(absent.size(), 1U);
  EXPECT_EQ(absent[0].result, -ENOENT);
  EXPECT_EQ(absent[0].file, 0U);
  const auto all = OF_CALL(recording, app_open, open);
  ASSERT_EQ(all.size(), 4U);
  EXPECT_EQ(all[3].result, -EFAULT);
  EXPECT_EQ(all[3].path, 0U);
}

TEST(app_open, shared_memory_is_a_file) {
  const auto recording = AppRecording::of_child("shm_open");
  expect_complete(recording);
  const auto opens = OF_CALL(recording, app_open, shm_open);
  ASSERT_EQ(opens.size(), 2U);
  for (const iot_app_open& event : opens) {
    recording.expect_header(event.event, event.duration_ns);
    EXPECT_EQ(event.flags, static_cast<iot_u32>(O_RDWR | O_CREAT | O_EXCL));
    EXPECT_EQ(event.mode, 0600U);
    EXPECT_EQ(event.fd, IOT_NO_FD);
    EXPECT_EQ(event.path, 0U) << "a name of shared memory is no path";
  }
  EXPECT_GE(opens[0].result, 3);
  EXPECT_EQ(opens[1].result, -EEXIST);
  EXPECT_EQ(opens[1].file, 0U);
  const auto sized = OF_CALL(recording, app_truncate, ftruncate);
  ASSERT_EQ(sized.size(), 1U);
  EXPECT_NE(opens[0].file, 0U);
  EXPECT_EQ(opens[0].file, sized[0].file);
  EXPECT_EQ(opens[0].result, sized[0].fd);
}

TEST(app_close, descriptors_and_streams) {
  const auto recording = AppRecording::of_child("app_open");
  expect_complete(recording);
  const auto opens = OF_FILE(recording, app_open, recording.in_directory("data"));
  const auto closes = OF_FILE(recording, app_close, recording.in_directory("data"));
  ASSERT_EQ(opens.size(), 3U);
  ASSERT_EQ(closes.size(), 2U);
  EXPECT_EQ(closes[0].call, static_cast<iot_u32>(IOT_app_call_fclose));
  EXPECT_EQ(closes[0].fd, opens[2].result);
  EXPECT_EQ(closes[1].call, static_cast<iot_u32>(IOT_app_call_close));
  EXPECT_EQ(closes[1].fd, opens[1].result);
  for (const iot_app_close& event : closes) {
    recording.expect_header(event.event, event.duration_ns);
    EXPECT_EQ(event.result, 0);
    EXPECT_EQ(event.file, opens[0].file);
  }
  const auto all = OF_CALL(recording, app_close, close);
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[1].result, -EBADF);
  EXPECT_EQ(all[1].file, 0U);
}

TEST(app_write, descriptors_and_streams) {
  const auto recording = AppRecording::of_child("app_write");
  expect_complete(recording);
  const auto writes = OF_FILE(recording, app_write, recording.in_directory("data"));
  const iot_u32 calls[] = {IOT_app_call_fwrite,  IOT_app_call_fputs,   IOT_app_call_fputc,
                           IOT_app_call_fprintf, IOT_app_call_write,   IOT_app_call_pwrite,
                           IOT_app_call_pwritev, IOT_app_call_dprintf, IOT_app_call_writev};
  const iot_s64 offsets[] = {-1, -1, -1, -1, -1, 100, 200, -1, -1};
  const iot_u64 asked[] = {8, 5, 1, 6, 10, 4, 6, 3, 6};
  ASSERT_EQ(writes.size(), std::size(calls));
  for (std::size_t i = 0; i < writes.size(); ++i) {
    recording.expect_header(writes[i].event, writes[i].duration_ns);
    EXPECT_EQ(writes[i].call, calls[i]);
    EXPECT_EQ(writes[i].offset, offsets[i]);
    EXPECT_EQ(writes[i].bytes_requested, asked[i]);
    EXPECT_EQ(writes[i].result, i == 8 ? -EBADF : static_cast<iot_s64>(asked[i]));
    EXPECT_EQ(writes[i].file, writes[0].file);
    EXPECT_GE(writes[i].fd, 3);
  }
}

TEST(app_seek, descriptors_and_streams) {
  const auto recording = AppRecording::of_child("app_seek");
  expect_complete(recording);
  const auto seeks = OF_FILE(recording, app_seek, recording.in_directory("data"));
  const iot_u32 calls[] = {IOT_app_call_lseek, IOT_app_call_lseek, IOT_app_call_fseek,
                           IOT_app_call_ftell, IOT_app_call_rewind};
  const iot_s64 offsets[] = {-3, -1, 4, 0, 0};
  const iot_u32 whences[] = {SEEK_END, SEEK_SET, SEEK_SET, SEEK_CUR, SEEK_SET};
  const iot_s64 results[] = {7, -EINVAL, 0, 4, 0};
  ASSERT_EQ(seeks.size(), std::size(calls));
  for (std::size_t i = 0; i < seeks.size(); ++i) {
    recording.expect_header(seeks[i].event, seeks[i].duration_ns);
    EXPECT_EQ(seeks[i].call, calls[i]);
    EXPECT_EQ(seeks[i].offset, offsets[i]);
    EXPECT_EQ(seeks[i].whence, whences[i]);
    EXPECT_EQ(seeks[i].result, results[i]);
    EXPECT_EQ(seeks[i].file, seeks[0].file);
    EXPECT_EQ(seeks[i].fd, seeks[0].fd);
  }
}

TEST(app_sync, descriptors_and_streams) {
  const auto recording = AppRecording::of_child("app_sync");
  expect_complete(recording);
  const auto syncs = OF_FILE(recording, app_sync, recording.in_directory("data"));
  const iot_u32 calls[] = {IOT_app_call_fsync, IOT_app_call_fdatasync, IOT_app_call_sync_file_range,
                           IOT_app_call_fflush};
  ASSERT_EQ(syncs.size(), std::size(calls));
  for (std::size_t i = 0; i < syncs.size(); ++i) {
    const bool is_range = calls[i] == IOT_app_call_sync_file_range;
    recording.expect_header(syncs[i].event, syncs[i].duration_ns);
    EXPECT_EQ(syncs[i].call, calls[i]);
    EXPECT_EQ(syncs[i].offset, is_range ? 2 : IOT_OFFSET_NONE);
    EXPECT_EQ(syncs[i].bytes, is_range ? 4U : 0U);
    EXPECT_EQ(syncs[i].flags, is_range ? iot_u32{SYNC_FILE_RANGE_WRITE} : 0U);
    EXPECT_EQ(syncs[i].result, 0);
    EXPECT_EQ(syncs[i].fd, syncs[0].fd);
    EXPECT_EQ(syncs[i].file, syncs[0].file);
  }
  const auto all = OF_CALL(recording, app_sync, fsync);
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[1].result, -EBADF);
}

TEST(app_truncate, paths_and_descriptors) {
  const auto recording = AppRecording::of_child("app_truncate");
  expect_complete(recording);
  const std::string name = recording.in_directory("data");
  const auto by_file = OF_FILE(recording, app_truncate, name);
  ASSERT_EQ(by_file.size(), 3U);
  const iot_u32 calls[] = {IOT_app_call_ftruncate, IOT_app_call_fallocate,
                           IOT_app_call_posix_fallocate};
  const iot_s64 offsets[] = {IOT_OFFSET_NONE, 4096, 0};
  const iot_u64 bytes[] = {5000, 8192, 10};
  for (std::size_t i = 0; i < by_file.size(); ++i) {
    recording.expect_header(by_file[i].event, by_file[i].duration_ns);
    EXPECT_EQ(by_file[i].call, calls[i]);
    EXPECT_EQ(by_file[i].offset, offsets[i]);
    EXPECT_EQ(by_file[i].bytes, bytes[i]);
    EXPECT_EQ(by_file[i].result, 0);
    EXPECT_EQ(by_file[i].path, 0U);
    EXPECT_EQ(by_file[i].fd, by_file[0].fd);
  }
  const auto by_path = OF_PATH(recording, app_truncate, name);
  ASSERT_EQ(by_path.size(), 1U);
  EXPECT_EQ(by_path[0].bytes, 100U);
  EXPECT_EQ(by_path[0].file, 0U);
  EXPECT_EQ(by_path[0].fd, IOT_NO_FD);
  EXPECT_EQ(OF_PATH(recording, app_truncate, recording.in_directory("absent")).at(0).result,
            -ENOENT);
  EXPECT_EQ(OF_CALL(recording, app_truncate, posix_fallocate).at(1).result, -EBADF);
}

} // namespace iotrail::live
