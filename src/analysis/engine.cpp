// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/engine.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <thread>

#include "analysis/column_meaning.hpp"
#include "analysis/duckdb_library.hpp"
#include "analysis/functions.hpp"
#include "analysis/relations.hpp"
#include "analysis/trace_table.hpp"
#include "analysis/trail_tables.hpp"

namespace iotrail::analysis {

namespace {

// Where large queries put what does not fit into memory: nobody else can have made it, or look into it. Without one they
// fail with a message of the engine.
class SpillDirectory {
public:
  SpillDirectory() {
    std::error_code ignored;
    path_ = (std::filesystem::temp_directory_path(ignored) / "iotrail-XXXXXX").string();
    if (mkdtemp(path_.data()) == nullptr)
      path_.clear();
  }
  SpillDirectory(const SpillDirectory&) = delete;
  SpillDirectory& operator=(const SpillDirectory&) = delete;
  ~SpillDirectory() {
    std::error_code ignored;
    if (!path_.empty())
      std::filesystem::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; } // "": there is none

private:
  std::string path_;
};

// Views of these files stand on all_events: a selection is made by the names that they give.
constexpr std::string_view kBeforeSelection = "00_";

} // namespace

struct Engine::Impl {
  // Order matters: the tables of the database refer to the reader.
  std::unique_ptr<store::TraceReader> reader;
  std::vector<store::TableInfo>
      tables; // of the reader, with the columns that it is too old to have
  std::unique_ptr<TrailTables> trails;
  SpillDirectory spill;
  duckdb_database database = nullptr;
  Connection connection;
  std::string unfit_views; // why each view that this trace has not all columns for is not there

  Impl() = default;
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  ~Impl() {
    if (database == nullptr)
      return; // perhaps there is no library either
    duckdb_disconnect(&connection.handle);
    duckdb_close(&database);
  }

  Result<void> open_database(const EngineOptions& options);
  Result<void> define_relations(const Selection& selection);
  Result<void> define_view(std::string_view name, const std::string& sql);
  Result<void> define_views(std::string_view prefix, bool has_prefix);
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

} // namespace

Result<void> Engine::Impl::open_database(const EngineOptions& options) {
  if (Result<void> loaded = load_duckdb(); !loaded)
    return loaded;
  Settings settings;
  if (auto chosen = choose_settings(settings, options, spill.path()); !chosen)
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

Result<void> Engine::Impl::define_relations(const Selection& selection) {
  tables = tables_of(*reader);
  for (const store::TableInfo& table : tables)
    if (auto done = register_trace_table(connection.handle, *reader, table); !done)
      return done;
  trails = std::make_unique<TrailTables>(*reader);
  if (auto done = trails->register_in(connection.handle); !done)
    return done;
  if (auto done = run("the table causes", cause_rows_sql()); !done)
    return done;
  if (auto done = register_functions(connection.handle); !done)
    return done;
  if (auto done = run("the tables", table_views_sql(tables)); !done)
    return done;
  if (auto done = run("the schema", schema_tables_sql(tables)); !done)
    return done;
  if (auto done = run("the table tables", table_list_sql(*reader)); !done)
    return done;
  if (auto done = run("the view all_events", events_view_sql(*reader, tables)); !done)
    return done;
  if (auto done = run("the manifest", manifest_tables_sql(reader->manifest())); !done)
    return done;
  if (auto done = define_views(kBeforeSelection, true); !done)
    return done;
  const SelectionSql selected = selection_sql(selection, reader->manifest());
  if (auto done = run("the view events", selected.events); !done)
    return done;
  if (auto done = define_view("path_calls", selected.path_calls); !done)
    return done;
  if (auto done = define_view("links", selected.links); !done)
    return done;
  if (auto done = define_views(kBeforeSelection, false); !done)
    return done;
  return count_rows(connection);
}

// The trace is attached and the relations are made: what follows is the user's, or comes from who wrote the query for him.
Result<void> Engine::Impl::lock() {
  connection.reads_only = true;
  return run("the lock", "SET enable_external_access = false; SET lock_configuration = true");
}

// Fails for want of memory only.
Result<void> Engine::Impl::define_view(std::string_view name, const std::string& sql) {
  auto done = run(fmt::format("the view {}", name), sql);
  if (done || done.error().code == ENOMEM)
    return done;
  unfit_views += fmt::format("{}{}", unfit_views.empty() ? "" : "\n", done.error().message());
  return {};
}

Result<void> Engine::Impl::define_views(std::string_view prefix, bool has_prefix) {
  for (const ViewFile& view : view_files())
    if (view.name.starts_with(prefix) == has_prefix)
      if (auto done = define_view(view.name, std::string(view.sql)); !done)
        return done;
  return {};
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
  if (auto done = impl->define_relations(options.selection); !done)
    return std::unexpected(done.error());
  if (!options.external_access)
    if (auto done = impl->lock(); !done)
      return std::unexpected(done.error());
  return std::unique_ptr<Engine>(new Engine(std::move(impl)));
}

Engine::Engine(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Engine::~Engine() = default;

const store::TraceReader& Engine::trace() const {
  return *impl_->reader;
}

Result<Rows> Engine::query(std::string_view sql) {
  auto rows = Rows::run(impl_->connection, sql);
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
