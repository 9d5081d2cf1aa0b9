// SPDX-License-Identifier: BSD-3-Clause
#include "render/html/data.hpp"

#include <gtest/gtest.h>

#include "render/html/picture_data.hpp"

namespace iotrail::output {

namespace {

Section long_section(std::size_t rows, const std::string& text) {
  Section section{.id = "files", .title = sentence("Files"), .columns = {{.name = "file"}}};
  section.rows.assign(rows, {{text}});
  section.all_rows = rows;
  section.shown = {0};
  return section;
}

Picture dense_picture(std::uint64_t bins, std::uint64_t classes) {
  Picture picture{.view = "latency_bins",
                  .keys = {"layer"},
                  .columns = {"bin", "class", "operations"},
                  .coordinates = 2,
                  .most_bytes = 200'000};
  picture.series.push_back({{"syscall"}, {}});
  for (std::uint64_t bin = 0; bin < bins; ++bin)
    for (std::uint64_t each = 0; each < classes; ++each)
      for (const std::uint64_t number : {bin, each, std::uint64_t{123456}})
        picture.series.back().numbers.push_back(number);
  return picture;
}

// Many series with long keys. Each of their characters takes six in the page.
Picture hostile_picture(std::size_t most_bytes) {
  Picture picture = dense_picture(200, 90);
  picture.most_bytes = most_bytes;
  for (int i = 0; i < 300; ++i)
    picture.series.push_back({{std::string(5'000, '<')}, {0, 1, static_cast<std::uint64_t>(i)}});
  return picture;
}

} // namespace

TEST(PageData, a_picture_without_room_loses_its_smallest_series) {
  Page page;
  page.pictures.list.push_back(hostile_picture(60'000));
  const std::string data = page_data(page);
  EXPECT_LT(data.size(), 70'000u);
  EXPECT_NE(data.find("\"dropped_series\":299"), data.npos);
  EXPECT_NE(data.find("syscall"), data.npos);
  EXPECT_NE(data.find("\"bin_ns\":8,"), data.npos); // wider only once keys do not take the room
}

TEST(PageData, size_is_limited_whatever_the_trace) {
  Page page;
  for (int i = 0; i < 12; ++i)
    page.report.sections.push_back(long_section(200, std::string(5'000, '<')));
  page.answer = page.report;
  page.findings = page.report;
  page.slowest = page.report;
  page.cache = page.report;
  page.snapshots = page.report;
  for (int i = 0; i < 10; ++i)
    page.pictures.list.push_back(hostile_picture(picture_bytes() / 10));
  const std::string data = page_data(page);
  EXPECT_LT(data.size(), 2'000'000u);
  EXPECT_NE(data.find("\"all_rows\":200"), data.npos);
}

TEST(PageData, a_page_that_fits_keeps_all_rows_and_bins) {
  Page page;
  page.report.sections.push_back(long_section(200, "/etc/passwd"));
  page.pictures.list.push_back(dense_picture(100, 10));
  const std::string data = page_data(page);
  std::size_t rows = 0;
  for (auto at = data.find("/etc/passwd"); at != data.npos; at = data.find("/etc/passwd", at + 1))
    ++rows;
  EXPECT_EQ(rows, 200u);
  EXPECT_NE(data.find("\"bin_ns\":1,"), data.npos);
}

TEST(PageData, nothing_in_it_ends_its_element) {
  Page page;
  page.report.sections.push_back(long_section(1, "</script><!--\u2028 \x1b"));
  const std::string data = page_data(page);
  EXPECT_EQ(data.find('<'), data.npos);
  EXPECT_EQ(data.find("\u2028"), data.npos);
  EXPECT_EQ(data.find('\x1b'), data.npos);
  EXPECT_NE(data.find("\\u003c/script>"), data.npos);
}

} // namespace iotrail::output
