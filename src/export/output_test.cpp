// SPDX-License-Identifier: BSD-3-Clause
#include "export/output.hpp"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <string>
#include <vector>

#include "analysis/engine/engine.hpp"
#include "export/export.hpp"
#include "export/format.hpp"
#include "export/json.hpp"
#include "export/script.hpp"
#include "render/json/json.hpp"
#include "render/text/text.hpp"
#include "render/text/value_text.hpp"
#include "report/explain/explain.hpp"
#include "report/report.hpp"
#include "report/warnings.hpp"
#include "store/format/manifest_text.hpp"
#include "test_trace.hpp"
#include "text/printable.hpp"
#include "text/table.hpp"

namespace iotrail::output {
namespace {

TEST(table, rows_after_the_sample_are_not_held_back) {
  char* data = nullptr;
  std::size_t size = 0;
  std::FILE* file = open_memstream(&data, &size);
  Sink sink(file);
  const auto table = find_format("text")->make(sink, kAnyWidth);
  const ResultColumn columns[] = {{"a", Kind::number}, {"b", Kind::text}};
  table->begin(columns);
  for (std::uint64_t i = 0; i < 1500; ++i) {
    const Cell cells[] = {i, std::string_view(i == 1400 ? "longer than the column" : "x")};
    table->row(cells);
  }
  table->end();
  ASSERT_TRUE(sink.finish().has_value());
  std::fclose(file);
  const std::string text(data, size);
  std::free(data);
  EXPECT_EQ(std::ranges::count(text, '\n'), 1502);
  EXPECT_TRUE(text.contains("1400  longer than the column\n"));
}

std::string table_of(std::size_t rows, std::size_t width) {
  char* data = nullptr;
  std::size_t size = 0;
  std::FILE* file = open_memstream(&data, &size);
  Sink sink(file);
  const auto table = find_format("text")->make(sink, width);
  const ResultColumn columns[] = {{"file", Kind::text}, {"number", Kind::number}};
  table->begin(columns);
  const Cell cells[] = {std::string_view("/a/path/that/is/not/short"), std::uint64_t{12345678901}};
  for (std::size_t n = 0; n < rows; ++n)
    table->row(cells);
  table->end();
  EXPECT_TRUE(sink.finish().has_value());
  std::fclose(file);
  std::string text(data, size);
  std::free(data);
  return text;
}

TEST(table, few_rows_that_are_too_wide_stand_upright) {
  constexpr std::size_t kNarrow = 30;
  const std::string row = "file    /a/path/that/is/not/short\nnumber  12345678901\n";
  EXPECT_EQ(table_of(1, kNarrow), row);
  EXPECT_EQ(table_of(2, kNarrow), row + "\n" + row);
  EXPECT_TRUE(table_of(4, kNarrow).contains("not shown: number"));
  EXPECT_TRUE(table_of(0, kNarrow).contains("file"));
  EXPECT_FALSE(table_of(1, kAnyWidth).starts_with(row));
}

TEST(table, control_characters_do_not_reach_the_terminal) {
  char* data = nullptr;
  std::size_t size = 0;
  std::FILE* file = open_memstream(&data, &size);
  Sink sink(file);
  TextTable table({{"path", Align::left}});
  table.add({"a\n\x1b[31mb"});
  table.print(sink, "");
  ASSERT_TRUE(sink.finish().has_value());
  std::fclose(file);
  EXPECT_EQ(std::string(data, size), "path\na\\x0a\\x1b[31mb\n");
  std::free(data);
}

TEST(printable, only_what_misleads_is_escaped) {
  EXPECT_EQ(printable("a\n\x7f"
                      "b"),
            "a\\x0a\\x7fb");
  EXPECT_EQ(printable(std::string_view("a\0b", 3)), "a\\x00b");
  EXPECT_EQ(printable("\xc2\x9b"
                      "31m"),
            "\\xc2\\x9b31m"); // U+009B
  EXPECT_EQ(printable("gpj.\u202etxt\u2066"), "gpj.\\xe2\\x80\\xaetxt\\xe2\\x81\\xa6");
  EXPECT_EQ(printable("Zoë, 日本 🙂"), "Zoë, 日本 🙂");
  EXPECT_EQ(printable("a\xc2\xa0"), "a\\xc2\\xa0"); // looks like a blank and is none
  EXPECT_EQ(printable("a\u200b\u00ad\ufeff"),
            "a\\xe2\\x80\\x8b\\xc2\\xad\\xef\\xbb\\xbf"); // all of it is invisible
  EXPECT_EQ(printable(""), "");
}

TEST(printable, bytes_that_are_not_utf_8_are_escaped) {
  EXPECT_EQ(printable("half a \xc2"), "half a \\xc2");
  EXPECT_EQ(printable("\x9b[31m"), "\\x9b[31m");  // ESC [ of a terminal of eight bits
  EXPECT_EQ(printable("\xc0\x8a"), "\\xc0\\x8a"); // a line end in two bytes
  EXPECT_EQ(printable("\xed\xa0\x80"), "\\xed\\xa0\\x80");
}

TEST(printable, lines_may_be_kept) {
  EXPECT_EQ(printable_lines("a\n\x1b[31m"), "a\n\\x1b[31m");
}

TEST(json, a_text_that_misleads_is_ascii) {
  char* data = nullptr;
  std::size_t size = 0;
  std::FILE* file = open_memstream(&data, &size);
  Sink sink(file);
  put_json_text(sink, "a\u202e\x7f\x1bë");
  put_json_text(sink, "日本");
  ASSERT_TRUE(sink.finish().has_value());
  std::fclose(file);
  EXPECT_EQ(std::string(data, size), "\"a\\u202e\\u007f\\u001b\\u00eb\"\"日本\"");
  std::free(data);
}

TEST(script, a_file_name_cannot_give_orders_to_the_terminal) {
  const golden::TestTrace trace(
      "syscall_open ts_ns=1 pid=1 file=\"/a\x1b[31m\" path=\"a\x1b[31m\"\n");
  auto reader = store::TraceReader::open(trace.path());
  ASSERT_TRUE(reader.has_value());
  char* data = nullptr;
  std::size_t size = 0;
  std::FILE* file = open_memstream(&data, &size);
  ASSERT_TRUE(write_script(**reader, file).has_value());
  std::fclose(file);
  const std::string text(data, size);
  std::free(data);
  EXPECT_FALSE(text.contains('\x1b'));
  EXPECT_TRUE(text.contains("</a\\x1b[31m>")) << text;
}

TEST(table, width_counts_characters_not_bytes) {
  EXPECT_EQ(display_width("Zoë"), 3U);
  EXPECT_EQ(padded("Zoë", 5, Align::right), "  Zoë");
}

// The output of `write`.
std::string written_by(const auto& write) {
  char* data = nullptr;
  std::size_t size = 0;
  std::FILE* file = open_memstream(&data, &size);
  EXPECT_TRUE(write(file).has_value());
  std::fclose(file);
  std::string text(data, size);
  std::free(data);
  return text;
}

Result<void> write_report(analysis::Engine& engine, std::FILE* file, bool is_json = false) {
  const auto document = make_report(engine, {.for_programs = is_json});
  if (!document)
    return std::unexpected(document.error());
  Sink sink(file);
  if (is_json)
    render_json(*document, sink);
  else
    render_text(*document, sink, kPlainWidth);
  return sink.finish();
}

std::string report_of(analysis::Engine& engine, bool is_json = false) {
  return written_by([&](std::FILE* file) { return write_report(engine, file, is_json); });
}

// A trace without the view, as if the view could not be made.
std::unique_ptr<analysis::Engine> open_without_amplification(const golden::TestTrace& trace) {
  auto engine = analysis::Engine::open(trace.path(), {.external_access = true});
  EXPECT_TRUE(engine.has_value() && (*engine)->query("DROP VIEW amplification").has_value());
  return std::move(*engine);
}

TEST(report, a_section_that_the_trace_does_not_allow_is_named_and_the_others_stand) {
  const golden::TestTrace trace("syscall_read ts_ns=1 pid=7 duration_ns=3 result=8\n");
  const auto engine = open_without_amplification(trace);
  const std::string text = report_of(*engine);
  EXPECT_TRUE(text.contains("Bytes of files on their way down\n  not shown: ")) << text;
  EXPECT_TRUE(text.contains("syscall  read           1    8 B")) << text;
  EXPECT_TRUE(text.contains("Processes, by bytes at the device, then by bytes in calls\n  pid"))
      << text;
}

TEST(report, as_json_names_a_section_that_the_trace_does_not_allow_and_the_others_stand) {
  const golden::TestTrace trace("syscall_read ts_ns=1 pid=7 duration_ns=3 result=8\n");
  const auto engine = open_without_amplification(trace);
  const auto json = store::Json::parse(report_of(*engine, true));
  EXPECT_TRUE(json["bytes"].is_null());
  EXPECT_EQ(json["processes"].size(), 1U);
  const auto& not_shown = json["not_shown"];
  ASSERT_FALSE(not_shown.empty());
  EXPECT_TRUE(std::ranges::any_of(not_shown, [](const store::Json& entry) {
    return entry["section"] == "bytes" &&
           entry["why"].get<std::string>().contains("there is no table or view");
  })) << not_shown;
}

// In a forged trace, 2,000 system calls and library calls with one number made millions of lines in
// memory.
TEST(explain, operations_that_share_a_number_are_not_counted_once_for_each_pair) {
  std::string events = "app_write ts_ns=1 op_id=101 pid=7 tid=7 duration_ns=1000 call=fwrite\n";
  for (int i = 0; i < 50; ++i)
    events += fmt::format("syscall_write ts_ns={} op_id=1 pid=7 tid=7 duration_ns=1 call=write\n",
                          2 * i + 10);
  const golden::TestTrace trace(events);
  auto engine = analysis::Engine::open(trace.path());
  ASSERT_TRUE(engine.has_value());
  const std::string text = written_by([&](std::FILE* file) -> Result<void> {
    const auto document = make_explanation(**engine, {.op = "101"});
    if (!document)
      return std::unexpected(document.error());
    Sink sink(file);
    render_text(*document, sink, kPlainWidth);
    return sink.finish();
  });
  EXPECT_TRUE(text.contains("syscall  write")) << text;
  EXPECT_TRUE(text.contains("and 39 more")) << text; // 51: the call itself and the calls in it
}

TEST(outputs, a_full_disk_is_an_error_of_every_output) {
  const golden::TestTrace trace("syscall_read ts_ns=1 pid=1\n");
  auto engine = analysis::Engine::open(trace.path());
  ASSERT_TRUE(engine.has_value());
  std::FILE* full = std::fopen("/dev/full", "w");
  ASSERT_NE(full, nullptr);
  EXPECT_FALSE(write_report(**engine, full).has_value());
  EXPECT_FALSE(write_script((*engine)->trace(), full).has_value());
  EXPECT_FALSE(export_stream((*engine)->trace(), {find_format("jsonl")}, full).has_value());
  for (const Format* format : formats()) {
    auto rows = (*engine)->query("SELECT * FROM syscall_read");
    ASSERT_TRUE(rows.has_value());
    const auto written = write_rows(*rows, {.format = format}, full);
    ASSERT_FALSE(written.has_value()) << format->name;
    EXPECT_EQ(written.error().code, ENOSPC);
  }
  std::fclose(full);
}

TEST(export_directory, files_are_private_and_never_replaced) {
  const golden::TestTrace trace("syscall_read ts_ns=1 pid=1\n");
  auto reader = store::TraceReader::open(trace.path());
  ASSERT_TRUE(reader.has_value());
  const auto directory = trace.directory() / "out";
  const ExportOptions options{find_format("csv")};
  ASSERT_TRUE(export_directory(**reader, options, directory).has_value());
  struct stat status{};
  ASSERT_EQ(::stat((directory / "syscall_read.csv").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0007U, 0U);
  const auto again = export_directory(**reader, options, directory);
  ASSERT_FALSE(again.has_value());
  EXPECT_EQ(again.error().code, EEXIST);
}

TEST(warnings, where_what_was_worked_out_ends_is_told_once) {
  const golden::TestTrace trace("syscall_read ts_ns=1 pid=7\n");
  const auto reader = store::TraceReader::open(trace.path());
  ASSERT_TRUE(reader.has_value());
  const std::size_t others = answer_warnings(**reader).size();
  (*reader)->add_limit("ONLY UP TO\x1b HERE.");
  (*reader)->add_limit("ONLY UP TO\x1b HERE.");
  const std::vector<std::string> sentences = sentence_texts(answer_warnings(**reader));
  ASSERT_EQ(sentences.size(), others + 1);
  EXPECT_TRUE(std::ranges::find(sentences, "ONLY UP TO\\x1b HERE.") != sentences.end());
}

} // namespace
} // namespace iotrail::output
