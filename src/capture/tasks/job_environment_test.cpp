// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <unistd.h>

#include <string>

#include "capture/tasks/job_environment.hpp"

namespace iotrail::capture {
namespace {

using namespace std::string_literals;

TEST(job_environment, rank_and_job_are_found_among_others) {
  const JobEnvironment found =
      job_environment("HOME=/root\0PMI_RANK=7\0SLURM_JOB_ID=4711\0PATH=/bin\0"s);
  EXPECT_EQ(found.rank, "7");
  EXPECT_EQ(found.job, "4711");
}

TEST(job_environment, mpi_counts_before_the_batch_system_in_any_order) {
  EXPECT_EQ(job_environment("SLURM_PROCID=0\0OMPI_COMM_WORLD_RANK=3\0"s).rank, "3");
  EXPECT_EQ(job_environment("OMPI_COMM_WORLD_RANK=3\0SLURM_PROCID=0\0"s).rank, "3");
  EXPECT_EQ(job_environment("PMIX_RANK=2\0PMI_RANK=1\0SLURM_PROCID=0\0"s).rank, "2");
  EXPECT_EQ(job_environment("SLURM_PROCID=12"s).rank, "12"); // without its NUL
}

TEST(job_environment, a_value_that_is_none_is_skipped) {
  EXPECT_EQ(job_environment("PMI_RANK=-1\0SLURM_PROCID=5\0"s).rank, "5");
  EXPECT_EQ(job_environment("PMI_RANK=\0MY_PMI_RANK=5\0PMI_RANKS=8\0"s).rank, "");
  EXPECT_EQ(job_environment("PMI_RANK=1234567890\0"s).rank, "");
  EXPECT_EQ(job_environment("SLURM_JOB_ID=a b\0PBS_JOBID=12.host\0"s).job, "12.host");
  EXPECT_EQ(job_environment("SLURM_JOB_ID="s + std::string(200, 'x')).job, "");
  EXPECT_EQ(job_environment("SLURM_JOB_ID=\x1b[2J\0"s).job, "");
}

TEST(job_environment, a_process_that_is_gone_has_none) {
  const JobEnvironment found = read_job_environment(0);
  EXPECT_EQ(found.rank, "");
  EXPECT_EQ(found.job, "");
}

} // namespace
} // namespace iotrail::capture
