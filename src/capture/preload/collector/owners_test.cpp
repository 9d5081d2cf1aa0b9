// SPDX-License-Identifier: BSD-3-Clause
#include "capture/preload/collector/owners.hpp"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

namespace iotrail::capture::preload {

namespace {

class OwnerWatchTest : public testing::Test {
protected:
  void own(iot_u32 index, iot_u64 owner, iot_u64 claim) {
    struct stat attributes{};
    stat("/proc/self/ns/pid", &attributes);
    owners_[index] = owner;
    places_[index].claim = claim;
    places_[index].pid_namespace = attributes.st_ino;
  }
  std::vector<iot_u32> find_gone() { return watch_.find_gone(owners_, places_); }

  static iot_u64 make_dead_owner() {
    const pid_t pid = fork();
    if (pid == 0)
      _exit(0);
    waitpid(pid, nullptr, 0);
    return owner_of(pid, pid);
  }
  static iot_u64 alive() { return owner_of(getpid(), getpid()); }

  std::vector<iot_u64> owners_ = std::vector<iot_u64>(4);
  std::vector<ThreadSlot> places_ = std::vector<ThreadSlot>(4);
  OwnerWatch watch_;
};

} // namespace

TEST_F(OwnerWatchTest, living_owner_stays) {
  own(1, alive(), 1);
  EXPECT_TRUE(find_gone().empty());
}

TEST_F(OwnerWatchTest, dead_owner_is_gone) {
  own(2, make_dead_owner(), 1);
  EXPECT_EQ(find_gone(), std::vector<iot_u32>{2});
}

TEST_F(OwnerWatchTest, released_place_is_gone) {
  own(0, alive() | kOwnerReleased, 1);
  EXPECT_EQ(find_gone(), std::vector<iot_u32>{0});
}

TEST_F(OwnerWatchTest, newer_claim_of_the_same_thread_replaces_the_older) {
  own(0, alive(), 7);
  own(3, alive(), 9);
  EXPECT_EQ(find_gone(), std::vector<iot_u32>{0});
  own(0, alive(), 10);
  EXPECT_EQ(find_gone(), std::vector<iot_u32>{3});
}

TEST_F(OwnerWatchTest, unfinished_claim_is_judged_at_the_second_look) {
  own(0, make_dead_owner(), 0);
  EXPECT_TRUE(find_gone().empty());
  EXPECT_EQ(find_gone(), std::vector<iot_u32>{0});
}

TEST_F(OwnerWatchTest, owner_in_another_pid_namespace_is_not_asked_for) {
  own(0, make_dead_owner(), 1);
  places_[0].pid_namespace = 1;
  EXPECT_TRUE(find_gone().empty());
}

} // namespace iotrail::capture::preload
