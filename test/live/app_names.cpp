// SPDX-License-Identifier: BSD-3-Clause
//
// app_unlink, app_rename, app_mkdir, app_stat, app_mmap, app_munmap, app_msync, app_copy.
#include "app_recording.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>

namespace iotrail::live {

namespace {

const Child kNames("app_names", [](const std::string& directory) {
  const std::string name = directory + "/data";
  const std::string other = directory + "/other";
  std::ofstream(name) << "x";
  const int parent = open(directory.c_str(), O_RDONLY | O_DIRECTORY);
  struct stat to{};
  bool ok = mkdir((directory + "/sub").c_str(), 0751) == 0 && mkdirat(parent, "sub", 0700) == -1;
  ok &= rename(name.c_str(), other.c_str()) == 0 &&
        renameat2(parent, "other", parent, "data", RENAME_NOREPLACE) == 0;
  ok &= stat(name.c_str(), &to) == 0 && lstat(other.c_str(), &to) == -1 &&
        fstat(parent, &to) == 0 && fstatat(parent, "data", &to, AT_SYMLINK_NOFOLLOW) == 0;
  ok &= unlink(name.c_str()) == 0 && unlinkat(parent, "sub", AT_REMOVEDIR) == 0 &&
        rmdir(other.c_str()) == -1;
  return ok ? 0 : 1;
});

// As `ls -R` asks for each directory.
const Child kEmptyPaths("app_empty_paths", [](const std::string& directory) {
  struct stat to{};
  struct statx more{};
  const int parent = open(directory.c_str(), O_RDONLY | O_DIRECTORY);
  const bool ok = open("", O_RDONLY) == -1 && stat("", &to) == -1 &&
                  fstatat(parent, "", &to, AT_EMPTY_PATH) == 0 &&
                  statx(parent, "", AT_EMPTY_PATH, STATX_SIZE, &more) == 0 &&
                  rename("", "other") == -1;
  return ok ? 0 : 1;
});

const Child kMemory("app_mmap", [](const std::string& directory) {
  const int file = open((directory + "/data").c_str(), O_RDWR | O_CREAT, 0600);
  bool ok = ftruncate(file, 12288) == 0;
  void* const at = mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, file, 4096);
  ok &= at != MAP_FAILED && msync(at, 4096, MS_SYNC) == 0;
  std::ofstream(directory + "/address") << reinterpret_cast<std::uintptr_t>(at);
  ok &= munmap(at, 8192) == 0 && munmap(reinterpret_cast<void*>(1), 1) == -1;
  ok &= mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE, 9999, 0) == MAP_FAILED;
  return ok ? 0 : 1;
});

const Child kCopies("app_copy", [](const std::string& directory) {
  std::ofstream(directory + "/in") << std::string(10000, 'x');
  const int in = open((directory + "/in").c_str(), O_RDONLY);
  const int out = open((directory + "/out").c_str(), O_RDWR | O_CREAT, 0600);
  int ends[2];
  off_t offset = 1000;
  bool ok = pipe(ends) == 0 && sendfile(out, in, &offset, 4000) == 4000;
  ok &= copy_file_range(in, nullptr, out, nullptr, 500, 0) == 500;
  offset = 7;
  ok &= splice(in, &offset, ends[1], nullptr, 100, 0) == 100;
  ok &= sendfile(out, 9999, nullptr, 1) == -1;
  return ok ? 0 : 1;
});

} // namespace

TEST(app_mkdir, directories) {
  const auto recording = AppRecording::of_child("app_names");
  expect_complete(recording);
  const auto made = OF_PATH(recording, app_mkdir, recording.in_directory("sub"));
  ASSERT_EQ(made.size(), 1U);
  recording.expect_header(made[0].event, made[0].duration_ns);
  EXPECT_EQ(made[0].result, 0);
  EXPECT_EQ(made[0].fd, AT_FDCWD);
  EXPECT_EQ(made[0].mode, 0751U);
  EXPECT_EQ(made[0].call, static_cast<iot_u32>(IOT_app_call_mkdir));
  const auto again = OF_PATH(recording, app_mkdir, "sub");
  ASSERT_EQ(again.size(), 1U);
  EXPECT_EQ(again[0].result, -EEXIST);
  EXPECT_GE(again[0].fd, 3);
}

TEST(app_rename, both_paths) {
  const auto recording = AppRecording::of_child("app_names");
  const auto renames = ALL(recording, app_rename);
  ASSERT_EQ(renames.size(), 2U);
  recording.expect_header(renames[0].event, renames[0].duration_ns);
  EXPECT_EQ(recording.text(renames[0].path), recording.in_directory("data"));
  EXPECT_EQ(recording.text(renames[0].new_path), recording.in_directory("other"));
  EXPECT_EQ(renames[0].fd, AT_FDCWD);
  EXPECT_EQ(renames[0].new_fd, AT_FDCWD);
  EXPECT_EQ(renames[0].flags, 0U);
  EXPECT_EQ(recording.text(renames[1].path), "other");
  EXPECT_EQ(recording.text(renames[1].new_path), "data");
  EXPECT_EQ(renames[1].flags, 1U);
  EXPECT_EQ(renames[1].fd, renames[1].new_fd);
  EXPECT_EQ(renames[1].result, 0);
  EXPECT_EQ(renames[1].call, static_cast<iot_u32>(IOT_app_call_renameat2));
}

TEST(app_stat, paths_and_descriptors) {
  const auto recording = AppRecording::of_child("app_names");
  const std::string name = recording.in_directory("data");
  const auto plain = OF_PATH(recording, app_stat, name);
  ASSERT_EQ(plain.size(), 1U);
  recording.expect_header(plain[0].event, plain[0].duration_ns);
  EXPECT_EQ(plain[0].call, static_cast<iot_u32>(IOT_app_call_stat));
  EXPECT_EQ(plain[0].flags, 0U);
  EXPECT_EQ(plain[0].fd, AT_FDCWD);
  const auto absent = OF_PATH(recording, app_stat, recording.in_directory("other"));
  ASSERT_EQ(absent.size(), 1U);
  EXPECT_EQ(absent[0].result, -ENOENT);
  EXPECT_EQ(absent[0].flags, iot_u32{AT_SYMLINK_NOFOLLOW});
  const auto of_directory = OF_FILE(recording, app_stat, recording.directory());
  ASSERT_EQ(of_directory.size(), 1U);
  EXPECT_EQ(of_directory[0].call, static_cast<iot_u32>(IOT_app_call_fstat));
  EXPECT_EQ(of_directory[0].path, 0U);
  EXPECT_EQ(recording.file(of_directory[0].file).mode & iot_u32{S_IFMT}, iot_u32{S_IFDIR});
  const auto at = OF_PATH(recording, app_stat, "data");
  ASSERT_EQ(at.size(), 1U);
  EXPECT_EQ(at[0].fd, of_directory[0].fd);
  EXPECT_EQ(at[0].result, 0);
}

TEST(app_stat, an_empty_path_is_none_and_not_a_lost_one) {
  const auto recording = AppRecording::of_child("app_empty_paths");
  expect_complete(recording);
  const auto stats = OF_FILE(recording, app_stat, recording.directory());
  ASSERT_EQ(stats.size(), 2U);
  EXPECT_EQ(stats[0].path, 0U);
  const auto renames = ALL(recording, app_rename);
  ASSERT_EQ(renames.size(), 1U);
  EXPECT_EQ(renames[0].path, 0U);
  EXPECT_EQ(recording.text(renames[0].new_path), "other");
}

TEST(app_unlink, names) {
  const auto recording = AppRecording::of_child("app_names");
  const auto unlinks = ALL(recording, app_unlink);
  ASSERT_EQ(unlinks.size(), 3U);
  const iot_u32 flags[] = {0, AT_REMOVEDIR, AT_REMOVEDIR};
  const iot_s64 results[] = {0, 0, -ENOENT};
  const std::string paths[] = {recording.in_directory("data"), "sub",
                               recording.in_directory("other")};
  const iot_u32 calls[] = {IOT_app_call_unlink, IOT_app_call_unlinkat, IOT_app_call_rmdir};
  for (std::size_t i = 0; i < 3; ++i) {
    recording.expect_header(unlinks[i].event, unlinks[i].duration_ns);
    EXPECT_EQ(recording.text(unlinks[i].path), paths[i]);
    EXPECT_EQ(unlinks[i].flags, flags[i]);
    EXPECT_EQ(unlinks[i].result, results[i]);
    EXPECT_EQ(unlinks[i].call, calls[i]);
    EXPECT_EQ(unlinks[i].fd == AT_FDCWD, i != 1);
  }
}

class MappedMemory : public testing::Test {
protected:
  AppRecording recording_ = AppRecording::of_child("app_mmap");
  iot_u64 address_ = [this] {
    iot_u64 at = 0;
    std::ifstream(recording_.in_directory("address")) >> at;
    return at;
  }();
};

TEST_F(MappedMemory, app_mmap) {
  expect_complete(recording_);
  const auto maps = OF_FILE(recording_, app_mmap, recording_.in_directory("data"));
  ASSERT_EQ(maps.size(), 1U);
  recording_.expect_header(maps[0].event, maps[0].duration_ns);
  EXPECT_EQ(maps[0].address, address_);
  EXPECT_EQ(maps[0].offset, 4096);
  EXPECT_EQ(maps[0].bytes, 8192U);
  EXPECT_EQ(maps[0].result, 0);
  EXPECT_GE(maps[0].fd, 3);
  EXPECT_EQ(maps[0].prot, iot_u32{PROT_READ | PROT_WRITE});
  EXPECT_EQ(maps[0].flags, iot_u32{MAP_SHARED});
  EXPECT_EQ(maps[0].call, static_cast<iot_u32>(IOT_app_call_mmap));
  const auto all = ALL(recording_, app_mmap);
  EXPECT_EQ(all.back().result, -EBADF);
  EXPECT_EQ(all.back().address, 0U);
  EXPECT_EQ(all.back().fd, 9999);
}

TEST_F(MappedMemory, app_munmap) {
  std::vector<iot_app_munmap> ours;
  for (const iot_app_munmap& event : ALL(recording_, app_munmap))
    if (event.address == address_ || event.address == 1)
      ours.push_back(event);
  ASSERT_EQ(ours.size(), 2U);
  recording_.expect_header(ours[0].event, ours[0].duration_ns);
  EXPECT_EQ(ours[0].bytes, 8192U);
  EXPECT_EQ(ours[0].result, 0);
  EXPECT_EQ(ours[0].call, static_cast<iot_u32>(IOT_app_call_munmap));
  EXPECT_EQ(ours[1].result, -EINVAL);
}

TEST_F(MappedMemory, app_msync) {
  const auto syncs = ALL(recording_, app_msync);
  ASSERT_EQ(syncs.size(), 1U);
  recording_.expect_header(syncs[0].event, syncs[0].duration_ns);
  EXPECT_EQ(syncs[0].address, address_);
  EXPECT_EQ(syncs[0].bytes, 4096U);
  EXPECT_EQ(syncs[0].flags, iot_u32{MS_SYNC});
  EXPECT_EQ(syncs[0].result, 0);
  EXPECT_EQ(syncs[0].call, static_cast<iot_u32>(IOT_app_call_msync));
}

TEST(app_copy, both_ends) {
  const auto recording = AppRecording::of_child("app_copy");
  expect_complete(recording);
  const auto copies = ALL(recording, app_copy);
  ASSERT_EQ(copies.size(), 4U);
  const iot_u32 calls[] = {IOT_app_call_sendfile, IOT_app_call_copy_file_range, IOT_app_call_splice,
                           IOT_app_call_sendfile};
  const iot_s64 offsets[] = {1000, IOT_OFFSET_NONE, 7, IOT_OFFSET_NONE};
  const iot_u64 asked[] = {4000, 500, 100, 1};
  const iot_s64 results[] = {4000, 500, 100, -EBADF};
  for (std::size_t i = 0; i < copies.size(); ++i) {
    recording.expect_header(copies[i].event, copies[i].duration_ns);
    EXPECT_EQ(copies[i].call, calls[i]);
    EXPECT_EQ(copies[i].in_offset, offsets[i]);
    EXPECT_EQ(copies[i].bytes_requested, asked[i]);
    EXPECT_EQ(copies[i].result, results[i]);
    EXPECT_GE(copies[i].in_fd, 3);
    EXPECT_GE(copies[i].out_fd, 3);
    if (i == 3)
      continue;
    EXPECT_EQ(recording.file(copies[i].in_file).path, recording.in_directory("in"));
    const std::string out = recording.file(copies[i].out_file).path;
    EXPECT_EQ(i == 2 ? out.substr(0, 5) : out, i == 2 ? "pipe:" : recording.in_directory("out"));
  }
  EXPECT_EQ(copies[3].in_fd, 9999);
  EXPECT_EQ(copies[3].in_file, 0U);
}

} // namespace iotrail::live
