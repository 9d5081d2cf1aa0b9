// SPDX-License-Identifier: BSD-3-Clause
#include "export/arrow/arrow_type.hpp"

#include <algorithm>
#include <charconv>

namespace iotrail::output {
namespace {

using enum ArrowLayout;

// Format, number and arguments are those of Arrow's documents. A format that ends in a colon has
// more behind it.
constexpr ArrowType kTypes[] = {
    {"b", 6, bits},
    {"c", 2, fixed, 1, {{{4, 8}, {1, 1}}}},
    {"C", 2, fixed, 1, {{{4, 8}, {1, 0}}}},
    {"s", 2, fixed, 2, {{{4, 16}, {1, 1}}}},
    {"S", 2, fixed, 2, {{{4, 16}, {1, 0}}}},
    {"i", 2, fixed, 4, {{{4, 32}, {1, 1}}}},
    {"I", 2, fixed, 4, {{{4, 32}, {1, 0}}}},
    {"l", 2, fixed, 8, {{{4, 64}, {1, 1}}}},
    {"L", 2, fixed, 8, {{{4, 64}, {1, 0}}}},
    {"f", 3, fixed, 4, {{{2, 1}}}},
    {"g", 3, fixed, 8, {{{2, 2}}}},
    {"z", 4, text},
    {"u", 5, text},
    {"d:", 7, fixed, 16, {{{4, 0}, {4, 0}, {4, 128}}}}, // digits, those behind the point
    {"tdD", 8, fixed, 4, {{{2, 0}}}},
    {"ttu", 9, fixed, 8, {{{2, 2}, {4, 64}}}},
    {"tss:", 10, fixed, 8, {{{2, 0}}}},
    {"tsm:", 10, fixed, 8, {{{2, 1}}}},
    {"tsu:", 10, fixed, 8, {{{2, 2}}}},
    {"tsn:", 10, fixed, 8, {{{2, 3}}}},
    {"tin", 11, fixed, 16, {{{2, 2}}}},
    {"+l", 12, list},
    {"+s", 13, structure},
    {"+w:", 16, structure, 0, {{{4, 0}}}}, // values a list
    {"+m", 17, list, 0, {{{1, 0}}}},
};

bool is_of(const ArrowType& type, std::string_view format) {
  return type.format.ends_with(':') ? format.starts_with(type.format) : format == type.format;
}

// The numbers of "3,2" become the first arguments.
void read_arguments(std::string_view numbers, ArrowType& type) {
  for (ArrowArgument& argument : type.arguments) {
    const auto [end, problem] =
        std::from_chars(numbers.data(), numbers.data() + numbers.size(), argument.value);
    if (problem != std::errc{})
      return;
    numbers.remove_prefix(static_cast<std::size_t>(end - numbers.data()));
    numbers.remove_prefix(numbers.starts_with(','));
  }
}

} // namespace

Result<ArrowType> arrow_type(const ArrowSchema& field) {
  const std::string_view format = field.format;
  const auto* const found =
      std::ranges::find_if(kTypes, [&](const ArrowType& type) { return is_of(type, format); });
  if (found == std::end(kTypes) || field.dictionary != nullptr || field.metadata != nullptr)
    return fail("cannot write the column as Arrow",
                field.dictionary != nullptr
                    ? "iotrail writes no dictionary, which an ENUM would become"
                    : fmt::format("iotrail does not write the type {} of Arrow", format),
                "CAST it in the query, such as CAST(x AS VARCHAR) or CAST(x AS VARCHAR[]).");
  ArrowType type = *found;
  const std::string_view more = format.substr(type.format.size());
  if (type.format.starts_with("ts"))
    type.zone = more;
  else
    read_arguments(more, type);
  return type;
}

} // namespace iotrail::output
