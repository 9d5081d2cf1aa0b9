// SPDX-License-Identifier: BSD-3-Clause
#include "cli/progress_bar.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdio>

#include "base/progress.hpp"

namespace iotrail::cli {
namespace {

std::string written_to(std::FILE* file) {
  std::string text;
  std::rewind(file);
  for (int c = std::fgetc(file); c != EOF; c = std::fgetc(file))
    text += static_cast<char>(c);
  return text;
}

struct TemporaryFile {
  std::FILE* file = std::tmpfile();
  TemporaryFile() = default;
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile() { std::fclose(file); }
};

TEST(ProgressBar, shows_the_share_in_the_width_of_the_terminal) {
  EXPECT_EQ(bar_text(0.5, 18), "[#####     ]  50 %");
  EXPECT_EQ(bar_text(0, 10), "[  ]   0 %");
  EXPECT_EQ(bar_text(7, 10), "[##] 100 %");
  EXPECT_EQ(bar_text(-1, 3), "  0 %");
  EXPECT_EQ(bar_text(1, 1000).size(), 50U);
}

TEST(ProgressBar, is_drawn_on_a_terminal_and_removed) {
  const TemporaryFile terminal;
  std::atomic<int> looks = 0;
  {
    const ProgressBar bar(
        {terminal.file, 30},
        [&] {
          ++looks;
          looks.notify_all();
          return 0.25;
        },
        std::chrono::nanoseconds(0));
    looks.wait(0);
  }
  const std::string text = written_to(terminal.file);
  EXPECT_TRUE(text.starts_with("\r[#####")) << text;
  EXPECT_TRUE(text.ends_with(" \r"));
  EXPECT_EQ(text.find('\x1b'), text.npos);
}

TEST(ProgressBar, leaves_no_trace_of_a_short_work) {
  const TemporaryFile terminal;
  {
    const ProgressBar bar({terminal.file, 30}, [] { return 0.0; }, std::chrono::hours(1));
  }
  EXPECT_EQ(written_to(terminal.file), "");
}

TEST(ProgressBar, is_not_drawn_into_a_file) {
  const TemporaryFile file;
  bool is_asked = false;
  {
    const ProgressBar bar(
        {file.file}, [&] { return is_asked = true, 0.0; }, std::chrono::nanoseconds(0));
  }
  EXPECT_FALSE(is_asked);
  EXPECT_EQ(written_to(file.file), "");
}

TEST(Progress, is_the_part_of_the_steps) {
  Progress progress;
  EXPECT_EQ(progress.share(), 0);
  progress.expect(4);
  progress.step();
  EXPECT_EQ(progress.share(), 0.25);
  for (int step = 0; step < 9; ++step)
    progress.step();
  EXPECT_EQ(progress.share(), 1);
}

} // namespace
} // namespace iotrail::cli
