// SPDX-License-Identifier: BSD-3-Clause
//
// golden_runner [--update | GOOGLETEST-OPTION...] FILE.test ...
//
// A test is a trace as text (text_trace.hpp), then command lines of the program with what is expected of them:
//
//   > report TRACE --by file                  `iotrail report` of the trace; words may stand in '...' or "..."
//   > query TRACE --raw                       all lines with >> are one last word:
//   >> SELECT 1
//   > width=60 query TRACE --tables           as on a terminal of this width; without: not on a terminal
//   > export TRACE --to csv -o DIRECTORY      every file of the new directory is printed, with its name before it
//
// `trace NAME.iotrail` among the statements begins a further trace, for a verb that takes several.
//
// Standard output, then standard error, then the exit status if it is not 0. The repository holds the trace alone.
// Expected text runs up to the next command; blank lines at its end do not count. --update rewrites it.
#include <unistd.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>

#include <fmt/format.h>

#include "cli/run.hpp"
#include "text_trace.hpp"

namespace {

namespace fs = std::filesystem;
using namespace iotrail;

struct Step {
  std::vector<std::string> lines; // as written in the file
  std::string command;
  std::string last_word; // of the lines with >>
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
      test.steps.push_back({{line}, line.substr(2), "", ""});
      in_command = true;
    } else if (in_command && line.starts_with(">> ")) {
      test.steps.back().lines.push_back(line);
      std::string& word = test.steps.back().last_word;
      word += (word.empty() ? "" : " ") + line.substr(3);
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

// Words as in a shell: blanks part them, quotes keep blanks.
std::vector<std::string> words_of(std::string_view line) {
  std::vector<std::string> words;
  char quote = 0;
  bool in_word = false;
  for (const char c : line) {
    if (quote == 0 && c == ' ') {
      in_word = false;
      continue;
    }
    if (!in_word)
      words.emplace_back();
    in_word = true;
    if (c == quote)
      quote = 0;
    else if (quote == 0 && (c == '"' || c == '\''))
      quote = c;
    else
      words.back() += c;
  }
  return words;
}

// A stream of the program that keeps its text.
class Capture {
public:
  Capture() : file_(open_memstream(&data_, &size_)) {}
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;
  ~Capture() {
    std::fclose(file_);
    std::free(data_);
  }
  std::FILE* file() const { return file_; }
  std::string text() const {
    std::fflush(file_);
    return {data_, size_};
  }

private:
  char* data_ = nullptr;
  std::size_t size_ = 0;
  std::FILE* file_;
};

constexpr const char* kDirectory = "DIRECTORY";

// The files of an export, which are gone then.
std::string take_directory() {
  std::map<std::string, std::string> texts;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(kDirectory, none))
    texts[entry.path().filename()] = read_file(entry.path());
  fs::remove_all(kDirectory);
  std::string all;
  for (const auto& [name, text] : texts)
    all += fmt::format("== {}\n{}", name, text);
  return all;
}

// The current directory has the trace.
std::string output_of(const Step& step, const std::string& trace) {
  std::vector<std::string> words = words_of(step.command);
  if (!step.last_word.empty())
    words.push_back(step.last_word);
  std::ranges::replace(words, "TRACE", trace);
  const Capture out;
  const Capture err;
  cli::Console console{.out = {out.file()}, .err = {err.file()}};
  constexpr std::string_view kWidth = "width=";
  if (words.front().starts_with(kWidth)) {
    console.out.fixed_width = std::stoul(words.front().substr(kWidth.size()));
    words.erase(words.begin());
  }
  const int status = cli::run(cli::verbs(), std::move(words), console);
  return out.text() + take_directory() + err.text() +
         (status == 0 ? "" : fmt::format("(status {})\n", status));
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

void replace_all(std::string& text, const std::string& from, std::string_view to) {
  for (auto at = text.find(from); at != text.npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
}

// The directory is has another name each time.
void hide(const fs::path& directory, std::string& text) {
  replace_all(text, directory.string() + "/", "");
  replace_all(text, directory.string(), "REPOSITORY");
}

void print_difference(const fs::path& file, const Step& step, const std::string& actual) {
  std::printf("%s: > %s %s\n--- expected\n%s--- actual\n%s---\n", file.c_str(),
              step.command.c_str(), step.last_word.c_str(), trimmed(step.expected).c_str(),
              actual.c_str());
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

// Writes the traces: `name`, then each with a line `trace NAME.iotrail`.
Result<void> write_traces(const std::string& text, const fs::path& directory, std::string name) {
  constexpr std::string_view kTrace = "trace ";
  std::istringstream input(text);
  std::string statements;
  for (std::string line; std::getline(input, line);) {
    if (!line.starts_with(kTrace)) {
      statements += line + "\n";
      continue;
    }
    if (const auto done = golden::write_text_trace(statements, directory / name); !done)
      return done;
    name = line.substr(kTrace.size());
    statements.clear();
  }
  return golden::write_text_trace(statements, directory / name);
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
  if (const auto done = write_traces(test.trace, directory.path(), trace.filename()); !done) {
    std::printf("%s: %s\n", file.c_str(), done.error().message().c_str());
    return 1;
  }
  ::setenv("IOTRAIL_REPOSITORY", directory.path().c_str(), 1);
  fs::current_path(directory.path());
  int failures = 0;
  for (Step& step : test.steps) {
    std::string actual = trimmed(output_of(step, trace.filename()));
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
  ::setenv("TZ", "UTC", 1);
  ::unsetenv("COLUMNS"); // output in a pipe is then 80 columns wide
  testing::InitGoogleTest(&argc, argv);
  const bool update = argc > 1 && std::string_view(argv[1]) == "--update";
  std::vector<fs::path> files;
  for (int i = update ? 2 : 1; i < argc; ++i)
    files.push_back(fs::absolute(argv[i])); // a test changes the directory
  if (!update) {
    std::ranges::for_each(files, add_test);
    return RUN_ALL_TESTS();
  }
  int failures = 0;
  for (const fs::path& file : files)
    failures += run_test(file, true);
  return failures == 0 ? 0 : 1;
}
