// SPDX-License-Identifier: BSD-3-Clause
#include "capture/snapshot/cpu_history.hpp"

#include <gtest/gtest.h>

namespace iotrail::capture::snapshot {
namespace {

constexpr std::uint64_t kStartNs = 1000 * kSecondNs;

TEST(CpuHistory, a_young_process_is_known_since_its_start) {
  CpuHistory history;
  const CpuShares shares = history.see(7, kStartNs, kStartNs + 2 * kSecondNs, kSecondNs);
  EXPECT_EQ(shares, (CpuShares{500, 500, 500}));
}

TEST(CpuHistory, of_an_old_process_nothing_is_known_at_first_sight) {
  CpuHistory history;
  const std::uint64_t now_ns = kStartNs + 200 * kSecondNs;
  EXPECT_EQ(history.see(7, kStartNs, now_ns, 3 * kSecondNs), (CpuShares{-1, -1, 15}));
  // From then on it is known.
  EXPECT_EQ(history.see(7, kStartNs, now_ns + kSecondNs, 4 * kSecondNs)[0], 1000);
}

TEST(CpuHistory, windows_forget_old_samples) {
  CpuHistory history;
  CpuShares shares{};
  // Busy on two CPUs for 10 seconds, then idle; read each second.
  for (std::uint64_t second = 1; second <= 200; ++second)
    shares = history.see(7, kStartNs, kStartNs + second * kSecondNs,
                         2 * std::min<std::uint64_t>(second, 10) * kSecondNs);
  EXPECT_EQ(shares[0], 0);
  EXPECT_EQ(shares[1], 0);
  EXPECT_EQ(shares[2], 100);
}

TEST(CpuHistory, uneven_looks_keep_to_the_window) {
  CpuHistory history;
  CpuShares shares{};
  for (std::uint64_t tenth = 1; tenth <= 300; ++tenth) {
    const std::uint64_t age_ns = tenth * kSecondNs / 10 + tenth % 3 * 1'000'000;
    shares = history.see(7, kStartNs, kStartNs + age_ns, age_ns / 4);
    EXPECT_NEAR(shares[0], 250, 5) << tenth;
    EXPECT_NEAR(shares[1], 250, 5) << tenth;
  }
}

TEST(CpuHistory, a_number_used_again_is_another_process) {
  CpuHistory history;
  history.see(7, kStartNs, kStartNs + kSecondNs, kSecondNs);
  const std::uint64_t again_ns = kStartNs + 2 * kSecondNs;
  EXPECT_EQ(history.see(7, again_ns, again_ns + kSecondNs, 0)[0], 0);
}

TEST(CpuHistory, times_that_go_back_do_no_harm) {
  CpuHistory history;
  history.see(7, kStartNs, kStartNs + kSecondNs, 5 * kSecondNs);
  EXPECT_EQ(history.see(7, kStartNs, kStartNs + kSecondNs, 0)[0], 0);
  EXPECT_EQ(history.see(8, kStartNs + kSecondNs, kStartNs, 0)[0], -1);
}

TEST(CpuHistory, ended_processes_are_forgotten) {
  CpuHistory history;
  const std::uint64_t now_ns = kStartNs + 10 * kSecondNs;
  history.see(7, kStartNs, now_ns, kSecondNs);
  history.see(7, kStartNs, now_ns + kSecondNs, kSecondNs);
  history.forget_unseen(now_ns + 2 * kSecondNs);
  EXPECT_EQ(history.see(7, kStartNs, now_ns + 3 * kSecondNs, kSecondNs)[0], -1);
}

} // namespace
} // namespace iotrail::capture::snapshot
