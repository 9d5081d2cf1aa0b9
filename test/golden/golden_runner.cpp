// SPDX-License-Identifier: BSD-3-Clause
//
// golden_runner [--update | GOOGLETEST-OPTION...] FILE.test ...
//
// A test is a trace as text (text_trace.hpp), then commands with their expected output:
//
//   > report [WORD=VALUE ...] [json]          by=file sort=written top=3 width=120 as the options of `report`
//   > query [--FORMAT] [words] [width=80] SELECT ...   FORMAT as in `query --format`, text by default; prints
//                                             numbers as stored, unless `words` is given
//   > explain OPERATION|slowest=N|at=NS|sector=N|request=N
//   > verify [json]
//   > stat [by=TABLE] [top=ROWS] [json]
//   > script [TABLE ...]
//   > export FORMAT TABLE [--raw]
//   > export-all [--raw|--json]               one stream of JSON lines, or one JSON array
//   > export-directory FORMAT                 every file, after its name
//   >> ...                                    continues the line before
//
// Expected text runs up to the next command; blank lines at its end do not count. --update rewrites it.
#include <unistd.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <ranges>
#include <sstream>

#include "analysis/engine/engine.hpp"
#include "export/export.hpp"
#include "export/output.hpp"
#include "export/script.hpp"
#include "render/json/json.hpp"
#include "render/text/explain_text.hpp"
#include "render/text/text.hpp"
#include "report/report.hpp"
#include "report/stat.hpp"
#include "report/verify.hpp"
#include "text_trace.hpp"

namespace {

namespace fs = std::filesystem;
using namespace iotrail;

struct Step {
  std::vector<std::string> lines; // as written in the file
  std::string command;            // joined
  std::string expected;
};

struct Test {
  std::string trace;
  std::vector<Step> steps;
};

std::string read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

Test parse(const std::string& text) {
  Test test;
  std::istringstream input(text);
  bool in_command = false;
  for (std::string line; std::getline(input, line);) {
    if (line.starts_with("> ")) {
      test.steps.push_back({{line}, line.substr(2), ""});
      in_command = true;
    } else if (in_command && line.starts_with(">> ")) {
      test.steps.back().lines.push_back(line);
      test.steps.back().command += " " + line.substr(3);
    } else {
      in_command = false;
      (test.steps.empty() ? test.trace : test.steps.back().expected) += line + "\n";
    }
  }
  return test;
}

// Ends with exactly one newline, unless it is empty.
std::string trimmed(std::string text) {
  while (text.ends_with('\n'))
    text.pop_back();
  return text.empty() ? text : text + "\n";
}

// The output of `write`, or its error.
std::string captured(const std::function<Result<void>(std::FILE*)>& write) {
  char* data = nullptr;
  std::size_t size = 0;
  std::FILE* file = open_memstream(&data, &size);
  const auto done = write(file);
  std::fclose(file);
  std::string text(data, size);
  std::free(data);
  if (!done)
    text += "error: " + done.error().message() + "\n";
  return text;
}

Result<void> without_count(Result<std::uint64_t> count) {
  if (!count)
    return std::unexpected(count.error());
  return {};
}

std::string next_word(std::string& text) {
  const auto end = std::min(text.find(' '), text.size());
  std::string word = text.substr(0, end);
  text.erase(0, std::min(end + 1, text.size()));
  return word;
}

Result<void> run_query(analysis::Engine& engine, std::string sql, std::FILE* file) {
  const output::Format* format = output::find_format("text");
  if (sql.starts_with("--"))
    format = output::find_format(next_word(sql).substr(2));
  if (!format)
    return fail_usage("no such format");
  output::RowsOptions options{.format = format};
  if (sql.starts_with("words ")) {
    next_word(sql);
    options.trace = &engine.trace();
  }
  if (sql.starts_with("width="))
    options.width = std::stoul(next_word(sql).substr(std::string_view("width=").size()));
  auto rows = engine.query(sql);
  if (!rows)
    return std::unexpected(rows.error());
  return without_count(output::write_rows(*rows, options, file));
}

Result<void> print(const Result<output::Document>& document, std::FILE* file, bool is_json = false,
                   std::size_t width = output::kPlainWidth) {
  if (!document)
    return std::unexpected(document.error());
  output::Sink sink(file);
  if (is_json)
    output::render_json(*document, sink);
  else
    output::render_text(*document, sink, width);
  return sink.finish();
}

// The exit status says too whether all is clean.
Result<void> run_verify(analysis::Engine& engine, bool is_json, std::FILE* file) {
  const auto verification = output::make_verification(engine);
  if (!verification)
    return std::unexpected(verification.error());
  if (Result<void> printed = print(verification->document, file, is_json); !printed)
    return printed;
  std::fputs(verification->is_clean ? "" : "(status 1)\n", file);
  return {};
}

// WORD=VALUE ...: by=file sort=written top=3 width=120; the word json.
Result<void> run_report(analysis::Engine& engine, std::string words, std::FILE* file) {
  output::ReportOptions options;
  std::size_t width = output::kPlainWidth;
  while (!words.empty()) {
    const std::string word = next_word(words);
    const auto equals = std::min(word.find('='), word.size());
    const std::string name = word.substr(0, equals);
    const std::string value = word.substr(std::min(equals + 1, word.size()));
    if (name == "by")
      options.by = value;
    else if (name == "sort")
      options.rows.sort = value;
    else if (name == "top")
      options.rows.rows = std::stoul(value);
    else if (name == "width")
      width = std::stoul(value);
    else
      options.for_programs = true;
  }
  return print(output::make_report(engine, options), file, options.for_programs, width);
}

Result<void> run_script(const store::TraceReader& trace, std::string tables, std::FILE* file) {
  std::vector<iot_u16> kinds;
  while (!tables.empty())
    kinds.push_back(trace.table(std::string_view(next_word(tables)))->kind);
  return without_count(output::write_script(trace, file, kinds));
}

Result<void> run_export_directory(const store::TraceReader& trace, const std::string& format,
                                  std::FILE* file) {
  const fs::path directory = trace.path().parent_path() / "export";
  const auto done = output::export_directory(trace, {output::find_format(format)}, directory);
  if (!done)
    return std::unexpected(done.error());
  std::map<std::string, std::string> texts;
  for (const auto& entry : fs::directory_iterator(directory))
    texts[entry.path().filename()] = read_file(entry.path());
  fs::remove_all(directory);
  for (const auto& [name, text] : texts)
    std::fprintf(file, "== %s\n%s", name.c_str(), text.c_str());
  return {};
}

// OPERATION, slowest=N, at=NS, sector=N, request=N
Result<void> run_explain(analysis::Engine& engine, const std::string& word, std::FILE* file) {
  output::ExplainOptions options;
  const auto equals = word.find('=');
  const std::string value = equals == std::string::npos ? "" : word.substr(equals + 1);
  if (word.starts_with("slowest="))
    options.slowest = std::stoul(value);
  else if (word.starts_with("at="))
    options.at_ns = std::stoul(value);
  else if (word.starts_with("sector="))
    options.sector = std::stoul(value);
  else if (word.starts_with("request="))
    options.request = std::stoul(value);
  else
    options.op = word;
  return output::write_explanation(engine, options, file);
}

// by=TABLE, top=ROWS, json
Result<void> run_stat(analysis::Engine& engine, std::string words, std::FILE* file) {
  output::StatOptions options;
  bool is_json = false;
  while (!words.empty()) {
    const std::string word = next_word(words);
    const std::string value = word.substr(word.find('=') + 1);
    if (word.starts_with("by="))
      options.by = value;
    else if (word.starts_with("top="))
      options.rows = std::stoul(value);
    else
      is_json = true;
  }
  return print(output::make_stat(engine, options), file, is_json);
}

Result<void> run(analysis::Engine& engine, std::string command, std::FILE* file) {
  const std::string verb = next_word(command);
  const store::TraceReader& trace = engine.trace();
  if (verb == "report")
    return run_report(engine, command, file);
  if (verb == "query")
    return run_query(engine, command, file);
  if (verb == "explain")
    return run_explain(engine, command, file);
  if (verb == "stat")
    return run_stat(engine, command, file);
  if (verb == "verify")
    return run_verify(engine, command == "json", file);
  if (verb == "script")
    return run_script(trace, command, file);
  if (verb == "export-directory")
    return run_export_directory(trace, command, file);
  if (verb == "export-all")
    return without_count(output::export_stream(
        trace, {output::find_format(command == "--json" ? "json" : "jsonl"), command == "--raw"},
        file));
  if (verb == "export") {
    const output::Format* format = output::find_format(next_word(command));
    const std::string name = next_word(command);
    const store::TableInfo* table = trace.table(name);
    if (!table)
      return fail("the trace has no table " + name);
    return without_count(output::export_table(trace, *table, {format, command == "--raw"}, file));
  }
  return fail("the runner has no command " + verb);
}

// A new directory, removed at the end.
class TemporaryDirectory {
public:
  TemporaryDirectory() {
    std::string pattern = (fs::temp_directory_path() / "golden-XXXXXX").string();
    IOTRAIL_CHECK(::mkdtemp(pattern.data()) != nullptr);
    path_ = pattern;
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  ~TemporaryDirectory() { fs::remove_all(path_); }
  const fs::path& path() const { return path_; }

private:
  fs::path path_;
};

// The directory has another name each time.
void hide(const fs::path& directory, std::string& text) {
  const std::string prefix = directory.string() + "/";
  for (auto at = text.find(prefix); at != text.npos; at = text.find(prefix, at))
    text.erase(at, prefix.size());
}

void print_difference(const fs::path& file, const Step& step, const std::string& actual) {
  std::printf("%s: > %s\n--- expected\n%s--- actual\n%s---\n", file.c_str(), step.command.c_str(),
              trimmed(step.expected).c_str(), actual.c_str());
}

void rewrite(const fs::path& file, const Test& test) {
  std::string text = test.trace;
  for (const Step& step : test.steps) {
    for (const std::string& line : step.lines)
      text += line + "\n";
    text += trimmed(step.expected);
    text += &step == &test.steps.back() ? "" : "\n";
  }
  std::ofstream(file, std::ios::binary | std::ios::trunc) << text;
}

// Returns the number of commands with unexpected output.
int run_test(const fs::path& file, bool update) {
  Test test = parse(read_file(file));
  if (test.steps.empty()) {
    std::printf("%s: no command in it\n", file.c_str());
    return 1;
  }
  const TemporaryDirectory directory;
  const fs::path trace = directory.path() / (file.stem().string() + ".iotrail");
  if (const auto done = golden::write_text_trace(test.trace, trace); !done) {
    std::printf("%s: %s\n", file.c_str(), done.error().message().c_str());
    return 1;
  }
  int failures = 0;
  for (Step& step : test.steps) {
    // Each command gets a new engine: damage that one command found must not help the next.
    auto engine = analysis::Engine::open(trace);
    std::string actual = trimmed(captured([&](std::FILE* out) -> Result<void> {
      if (!engine)
        return std::unexpected(engine.error());
      return run(**engine, step.command, out);
    }));
    hide(directory.path(), actual);
    if (actual == trimmed(step.expected))
      continue;
    if (!update) {
      print_difference(file, step, actual);
      ++failures;
    }
    step.expected = actual;
  }
  if (update)
    rewrite(file, test);
  return failures;
}

class GoldenTest : public testing::Test {
public:
  explicit GoldenTest(fs::path file) : file_(std::move(file)) {}
  void TestBody() override { EXPECT_EQ(run_test(file_, false), 0) << file_; }

private:
  fs::path file_;
};

// Its name is the last folder's and the file's.
void add_test(const fs::path& file) {
  const std::string name = file.parent_path().filename() / file.stem();
  testing::RegisterTest("golden", name.c_str(), nullptr, nullptr, file.c_str(), 1,
                        [file] { return new GoldenTest(file); });
}

} // namespace

int main(int argc, char** argv) {
  setenv("TZ", "UTC", 1);
  testing::InitGoogleTest(&argc, argv);
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words.empty() || words[0] != "--update") {
    std::ranges::for_each(words, add_test);
    return RUN_ALL_TESTS();
  }
  int failures = 0;
  for (const std::string& file : words | std::views::drop(1))
    failures += run_test(file, true);
  return failures == 0 ? 0 : 1;
}
