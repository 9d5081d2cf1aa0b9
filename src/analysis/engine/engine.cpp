// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/engine/engine.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "analysis/engine/duckdb_library.hpp"
#include "analysis/engine/lazy_relations.hpp"
#include "analysis/engine/relations.hpp"
#include "analysis/functions/functions.hpp"
#include "analysis/tables/column_meaning.hpp"
#include "analysis/tables/trace_table.hpp"
#include "analysis/tables/trail_tables.hpp"
#include "store/writer/temporary_files.hpp"

namespace iotrail::analysis {

namespace {

// The file with the macros and settings that all others need.
constexpr std::string_view kEngineFile = "00_duckdb";

} // namespace

struct Engine::Impl {
  // Order matters: the tables of the database refer to the reader.
  std::unique_ptr<store::TraceReader> reader;
  std::vector<store::TableInfo>
      tables; // of the reader, including columns that the trace is too old to have
  std::unique_ptr<TrailTables> trails;
  store::TemporaryFiles temporary_files;
  duckdb_database database = nullptr;
  Connection connection;
  LazyRelations definitions; // of the relations that no query has named yet
  std::string unfit_views;   // why each view that needs missing columns is absent

  Impl() = default;
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  ~Impl() {
    if (database == nullptr)
      return; // perhaps the library is missing too
    duckdb_disconnect(&connection.handle);
    duckdb_close(&database);
  }

  Result<void> open_database(const EngineOptions& options);
  Result<void> register_tables();
  void add_definitions(const EngineOptions& options);
  Result<void> define(const std::vector<LazyRelations::Definition>& taken);
  Result<void> define_macros();
  Result<Rows> run_query(std::string_view sql);
  Result<void> lock();
  Result<void> run(std::string_view what, const std::string& sql) const;
};

namespace {

constexpr std::uint64_t kMostMemoryBytes = 4ULL << 30U;

std::uint64_t default_memory_bytes() {
  const auto pages = static_cast<std::uint64_t>(std::max(0L, sysconf(_SC_PHYS_PAGES)));
  const auto page_bytes = static_cast<std::uint64_t>(std::max(0L, sysconf(_SC_PAGESIZE)));
  return std::min(pages * page_bytes / 2, kMostMemoryBytes);
}

struct Settings {
  duckdb_config config = nullptr;
  Settings() = default;
  Settings(const Settings&) = delete;
  Settings& operator=(const Settings&) = delete;
  ~Settings() { duckdb_destroy_config(&config); }

  Result<void> set(const char* name, const std::string& value) {
    if (duckdb_set_config(config, name, value.c_str()) != DuckDBSuccess)
      return fail("SQL engine", fmt::format("it does not take the setting {} = {}", name, value));
    return {};
  }
};

Result<void> choose_settings(Settings& settings, const EngineOptions& options,
                             const std::string& spill) {
  if (duckdb_create_config(&settings.config) != DuckDBSuccess)
    return fail("SQL engine", "out of memory");
  const unsigned threads =
      options.threads ? options.threads : std::max(1U, std::thread::hardware_concurrency());
  const std::uint64_t memory_bytes =
      options.memory_bytes ? options.memory_bytes : default_memory_bytes();
  const std::pair<const char*, std::string> chosen[] = {
      {"autoinstall_known_extensions", "false"},
      {"autoload_known_extensions", "false"},
      {"threads", fmt::format("{}", threads)},
      {"memory_limit", fmt::format("{}B", memory_bytes)},
      {"temp_directory", spill},
  };
  for (const auto& [name, value] : chosen)
    if (auto set = settings.set(name, value); !set)
      return set;
  return {};
}

// Directory for data of large queries that does not fit into memory. It must be new and private to
// this user. Without one ("") such queries fail with a message of the engine.
std::string make_spill_directory(const store::TemporaryFiles& temporary_files) {
  std::error_code ignored;
  std::string path = (std::filesystem::temp_directory_path(ignored) / "iotrail-XXXXXX").string();
  const bool is_made = temporary_files.make_tree(
      [&] { return ::mkdtemp(path.data()) == nullptr ? std::string() : path; });
  return is_made ? path : std::string();
}

} // namespace

Result<void> Engine::Impl::open_database(const EngineOptions& options) {
  if (Result<void> loaded = load_duckdb(); !loaded)
    return loaded;
  Settings settings;
  if (auto chosen = choose_settings(settings, options, make_spill_directory(temporary_files));
      !chosen)
    return chosen;
  char* why = nullptr;
  if (duckdb_open_ext(":memory:", &database, settings.config, &why) != DuckDBSuccess) {
    auto failed = fail("SQL engine", why ? why : "it does not start");
    duckdb_free(why);
    return failed;
  }
  if (duckdb_connect(database, &connection.handle) != DuckDBSuccess)
    return fail("SQL engine", "no connection");
  return {};
}

Result<void> Engine::Impl::run(std::string_view what, const std::string& sql) const {
  duckdb_result result{};
  const duckdb_state state = duckdb_query(connection.handle, sql.c_str(), &result);
  Result<void> done;
  if (state != DuckDBSuccess)
    done =
        std::unexpected(engine_error(fmt::format("SQL of {}", what), duckdb_result_error(&result)));
  duckdb_destroy_result(&result);
  return done;
}

Result<void> Engine::Impl::register_tables() {
  tables = tables_of(*reader);
  for (const store::TableInfo& table : tables)
    if (auto done = register_trace_table(connection.handle, *reader, table); !done)
      return done;
  trails = std::make_unique<TrailTables>(*reader);
  if (auto done = trails->register_in(connection.handle); !done)
    return done;
  return register_functions(connection.handle);
}

// The statements of a file with views, with tables in the place of the views to keep.
static std::string with_kept(std::string_view sql, const std::vector<std::string>& kept_views) {
  std::string text(sql);
  for (const std::string& view : kept_views) {
    const std::string create = fmt::format("CREATE VIEW {} AS", view);
    if (const auto at = text.find(create); at != std::string::npos)
      text.replace(at, create.size(), fmt::format("CREATE TABLE {} AS", view));
  }
  return text;
}

// The trace's own tables come last, so that none replaces a relation of iotrail.
void Engine::Impl::add_definitions(const EngineOptions& options) {
  add_manifest_tables(definitions, *reader);
  add_schema_tables(definitions, tables);
  add_table_list(definitions, *reader);
  add_causes(definitions);
  add_all_events(definitions, *reader, tables);
  add_selection(definitions, options.selection, reader->manifest());
  for (const ViewFile& view : view_files())
    if (view.name != kEngineFile)
      definitions.add(fmt::format("the view {}", view.name),
                      with_kept(view.sql, options.kept_views));
  add_finding_rules(definitions, options.finding_limits);
  add_trace_tables(definitions, tables);
}

Result<void> Engine::Impl::define_macros() {
  const auto views = view_files();
  const std::string file(std::ranges::find(views, kEngineFile, &ViewFile::name)->sql);
  if (auto done = run("the macros", macros_sql() + schema_macros_sql()); !done)
    return done;
  if (auto done = define(definitions.take_for(file)); !done)
    return done;
  return run(kEngineFile, file);
}

// After the trace is attached, all SQL comes from the user, or from the author of the user's query.
Result<void> Engine::Impl::lock() {
  connection.reads_only = true;
  return run("the lock", "SET enable_external_access = false; SET lock_configuration = true");
}

// Fails only if memory is short.
Result<void> Engine::Impl::define(const std::vector<LazyRelations::Definition>& taken) {
  for (const auto& [what, sql, fallback_sql] : taken) {
    auto done = run(what, sql);
    if (!done && done.error().code != ENOMEM && !fallback_sql.empty())
      done = run(what, fallback_sql);
    if (!done && done.error().code == ENOMEM)
      return done;
    if (!done)
      unfit_views += fmt::format("{}{}", unfit_views.empty() ? "" : "\n", done.error().message());
  }
  return {};
}

// Retries a failed statement once, with all relations defined. It may build names while it runs, as
// query() does, and then the engine's message suggests similar names.
Result<Rows> Engine::Impl::run_query(std::string_view sql) {
  if (auto done = define(definitions.take_for(sql)); !done)
    return std::unexpected(done.error());
  auto rows = Rows::run(connection, sql);
  if (rows || rows.error().code == ENOMEM)
    return rows;
  const auto rest = definitions.take_all();
  if (rest.empty())
    return rows;
  if (auto done = define(rest); !done)
    return std::unexpected(done.error());
  return Rows::run(connection, sql);
}

Result<std::unique_ptr<Engine>> Engine::open(const std::filesystem::path& trace,
                                             const EngineOptions& options) {
  auto reader = store::TraceReader::open(trace);
  if (!reader)
    return std::unexpected(reader.error());
  auto impl = std::make_unique<Impl>();
  impl->reader = std::move(*reader);
  if (auto done = impl->open_database(options); !done)
    return std::unexpected(done.error());
  if (auto done = impl->register_tables(); !done)
    return std::unexpected(done.error());
  impl->add_definitions(options);
  if (auto done = impl->define_macros(); !done)
    return std::unexpected(done.error());
  if (auto done = count_rows(impl->connection); !done)
    return std::unexpected(done.error());
  // The output of a writing statement must not clash with a relation defined later.
  if (auto done =
          options.external_access ? impl->define(impl->definitions.take_all()) : impl->lock();
      !done)
    return std::unexpected(done.error());
  return std::unique_ptr<Engine>(new Engine(std::move(impl)));
}

Engine::Engine(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Engine::~Engine() = default;

const store::TraceReader& Engine::trace() const {
  return *impl_->reader;
}

Result<Rows> Engine::query(std::string_view sql) {
  auto rows = impl_->run_query(sql);
  if (!rows && rows.error().hint.empty() && !impl_->unfit_views.empty())
    rows.error().hint =
        "The trace is of another version, and does not have all that is needed for\n" +
        impl_->unfit_views;
  for (std::size_t i = 0; rows && i < rows->columns().size(); ++i)
    rows->set_meaning(i,
                      column_meaning(sql, rows->columns()[i].name, rows->type(i), impl_->tables));
  return rows;
}

} // namespace iotrail::analysis
