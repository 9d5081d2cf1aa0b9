// SPDX-License-Identifier: BSD-3-Clause
//
// A file on an ext4 of the test, without any page in memory.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "evict.hpp"
#include "kernel_cache_fixture.hpp"
#include "mounted_file_system.hpp"

namespace iotrail::live {

template <std::size_t kPageCount> class KernelColdFileTest : public KernelTest {
protected:
  void SetUp() override {
    system_.emplace(folder_ / "disk", folder_ / "mounted");
    if (!system_->refusal().empty())
      GTEST_SKIP() << system_->refusal();
    path_ = *system_ / "file";
    const std::vector<char> bytes(kPageCount * kCachePageBytes, 'x');
    const Fd file(::open(path_.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    ASSERT_EQ(::write(file.get(), bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
    ASSERT_EQ(::syncfs(file.get()), 0);
    ASSERT_TRUE(evict(path_));
    set_begin();
  }

  ScratchDirectory folder_;
  std::optional<MountedFileSystem> system_;
  std::string path_;
};

} // namespace iotrail::live
