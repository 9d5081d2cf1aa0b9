// SPDX-License-Identifier: BSD-3-Clause
#include "capture/tasks/job_environment.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <fstream>
#include <iterator>
#include <span>

#include <fmt/format.h>

namespace iotrail::capture {

namespace {

constexpr std::size_t kEnvironmentMost = 1U << 20U;
constexpr std::size_t kRankDigitsMost = 9;
constexpr std::size_t kJobMost = 128;

// The first that is set counts. Slurm sets its variable also for the command that starts MPI.
constexpr std::string_view kRankVariables[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK",
                                               "MV2_COMM_WORLD_RANK", "SLURM_PROCID"};
constexpr std::string_view kJobVariables[] = {"SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID",
                                              "FLUX_JOB_ID"};

bool is_rank(std::string_view value) {
  return !value.empty() && value.size() <= kRankDigitsMost &&
         std::ranges::all_of(value, [](unsigned char c) { return std::isdigit(c) != 0; });
}

bool is_job(std::string_view value) {
  return !value.empty() && value.size() <= kJobMost &&
         std::ranges::all_of(value, [](unsigned char c) { return std::isgraph(c) != 0; });
}

// Takes the value if `variable` is one of `names` before the one that gave the present value.
void take(std::string_view variable, std::span<const std::string_view> names,
          bool (*fits)(std::string_view), std::size_t& best, std::string& value) {
  for (std::size_t i = 0; i < best; ++i)
    if (variable.size() > names[i].size() && variable.starts_with(names[i]) &&
        variable[names[i].size()] == '=' && fits(variable.substr(names[i].size() + 1))) {
      value = variable.substr(names[i].size() + 1);
      best = i;
      return;
    }
}

} // namespace

JobEnvironment job_environment(std::string_view variables) {
  JobEnvironment found;
  std::size_t best_rank = std::size(kRankVariables);
  std::size_t best_job = std::size(kJobVariables);
  while (!variables.empty()) {
    const std::size_t end = std::min(variables.find('\0'), variables.size());
    const std::string_view variable = variables.substr(0, end);
    take(variable, kRankVariables, is_rank, best_rank, found.rank);
    take(variable, kJobVariables, is_job, best_job, found.job);
    variables.remove_prefix(std::min(end + 1, variables.size()));
  }
  return found;
}

JobEnvironment read_job_environment(unsigned pid) {
  std::ifstream file(fmt::format("/proc/{}/environ", pid), std::ios::binary);
  std::string variables;
  std::array<char, 16384> piece{};
  while (variables.size() < kEnvironmentMost &&
         (file.read(piece.data(), piece.size()) || file.gcount() > 0))
    variables.append(piece.data(), static_cast<std::size_t>(file.gcount()));
  return job_environment(variables);
}

} // namespace iotrail::capture
