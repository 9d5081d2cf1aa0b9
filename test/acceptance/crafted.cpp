// SPDX-License-Identifier: BSD-3-Clause
//
// Writes a trace that no recorder would write: many rows in few bytes. Its arguments are the path of
// the trace, and statements; each makes rows of one table:
//
//   EVENT ROWS FIELD=VALUE ...   an event
//   files ROWS BYTES             files with different inodes, with equal paths of so many bytes
//   processes ROWS BYTES         processes with an equal name of so many bytes
//   strings ROWS BYTES           different texts of so many bytes, which end in a number
//   strings ROWS BYTES letters   the same, which end in letters: paths of no common kind
//
// A VALUE is a number; `+N`: N more in each row; `?N`: a random number below N; `?`: any number.
// Fields that are not named are 0.
#include <charconv>
#include <cstring>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "schema.hpp"
#include "store/writer/trace_writer.hpp"

namespace {

using namespace iotrail;

struct Pattern {
  const schema::Field* field;
  char kind; // '+', '?', or 0
  std::uint64_t number;

  std::uint64_t value(std::uint64_t row, std::mt19937_64& random) const {
    if (kind == '+')
      return number * (row + 1);
    if (kind == '?')
      return number == 0 ? random() : random() % number;
    return number;
  }
};

std::uint64_t number_of(std::string_view text) {
  std::uint64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

Pattern pattern_of(const schema::Event& event, const std::string& word) {
  const std::size_t equals = word.find('=');
  std::string_view value = std::string_view(word).substr(equals + 1);
  const char kind = value.starts_with('+') || value.starts_with('?') ? value.front() : '\0';
  value.remove_prefix(kind != 0 ? 1 : 0);
  for (const schema::Field& field : event.fields)
    if (field.name == word.substr(0, equals))
      return {&field, kind, number_of(value)};
  fmt::print(stderr, "{} has no field {}\n", event.name, word);
  std::exit(2);
}

void add_events(store::TraceWriter& writer, const schema::Event& event, std::istream& words,
                std::mt19937_64& random) {
  std::uint64_t rows = 0;
  words >> rows;
  std::vector<Pattern> patterns;
  for (std::string word; words >> word;)
    patterns.push_back(pattern_of(event, word));
  std::vector<std::uint64_t> record((event.size_bytes + 7U) / 8U);
  auto& header = reinterpret_cast<iot_event&>(*record.data());
  header.kind = event.id;
  for (std::uint64_t row = 0; row < rows; ++row) {
    for (const Pattern& pattern : patterns) {
      const std::uint64_t value = pattern.value(row, random);
      std::memcpy(reinterpret_cast<std::byte*>(record.data()) + pattern.field->offset, &value,
                  schema::info(pattern.field->type).size_bytes);
    }
    writer.append(header);
  }
}

std::string letters_of(std::uint64_t number) {
  std::string letters;
  for (; number != 0; number /= 26)
    letters += static_cast<char>('a' + number % 26);
  return letters;
}

void add_texts(store::TraceWriter& writer, std::string_view table, std::istream& words) {
  std::uint64_t rows = 0;
  std::uint64_t bytes = 0;
  std::string end;
  words >> rows >> bytes >> end;
  const std::string text = "/" + std::string(bytes, 'a');
  for (std::uint64_t row = 1; row <= rows; ++row)
    if (table == "files")
      writer.file_id({1, row, 1}, 0100644, text);
    else if (table == "processes")
      writer.add(rows::processes{.pid = static_cast<iot_u32>(row), .comm = text, .exe = text});
    else
      writer.string_id(text + (end == "letters" ? letters_of(row) : fmt::format("{}", row)));
}

bool add_rows(store::TraceWriter& writer, const std::string& statement, std::mt19937_64& random) {
  std::istringstream words(statement);
  std::string table;
  words >> table;
  const schema::Event* event = schema::find_event(table);
  if (event == nullptr)
    return false;
  if (event->layer == schema::Layer::dictionary)
    add_texts(writer, table, words);
  else
    add_events(writer, *event, words, random);
  return true;
}

} // namespace

int main(int argc, char** argv) {
  store::Manifest manifest;
  manifest.command = {"crafted"};
  const auto writer = store::TraceWriter::create(argv[1], manifest, {.block_rows = 16'384});
  if (!writer)
    return 1;
  std::mt19937_64 random(1); // the same each time
  for (int i = 2; i < argc; ++i)
    if (!add_rows(**writer, argv[i], random))
      return 2;
  manifest.state = store::State::COMPLETE;
  manifest.end_ns = 10'000'000'000;
  return (*writer)->finish(manifest) ? 0 : 1;
}
