// SPDX-License-Identifier: BSD-3-Clause
#include "store/writer/temporary_files.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <thread>

namespace iotrail::store {
namespace {

// A watcher blocks SIGTERM and waits for it, while another of its threads reads a trace with temporary files.
TEST(TemporaryFiles, a_signal_that_others_wait_for_is_left_to_them) {
  sigset_t term;
  sigset_t before;
  sigemptyset(&term);
  sigaddset(&term, SIGTERM);
  ASSERT_EQ(pthread_sigmask(SIG_BLOCK, &term, &before), 0);
  constexpr timespec kAtOnce{};
  {
    const TemporaryFiles files;
    ASSERT_EQ(::kill(::getpid(), SIGTERM), 0);
    std::this_thread::sleep_for(std::chrono::milliseconds(100)); // for a thread that would take it
  }
  EXPECT_EQ(sigtimedwait(&term, nullptr, &kAtOnce), SIGTERM);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

} // namespace
} // namespace iotrail::store
