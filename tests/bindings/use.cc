// The library from C++17, after <complex>, without any struct: lists the options, sets some, fits,
// cancels from a callback, reads every result by name, applies the model to new data.
#include <complex>

#include <tlnmf/tlnmf.h>

#include <cmath>
#include <cstdio>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

// Handles that free themselves, and errors as exceptions.
template <typename T, void (*release)(T *)> struct Free {
    void operator()(T *object) const { release(object); }
};
using Context = std::unique_ptr<tlnmf_ctx, Free<tlnmf_ctx, tlnmf_ctx_free>>;
using Settings = std::unique_ptr<tlnmf_settings, Free<tlnmf_settings, tlnmf_settings_free>>;
using Data = std::unique_ptr<tlnmf_data, Free<tlnmf_data, tlnmf_data_free>>;
using Record = std::unique_ptr<tlnmf_record, Free<tlnmf_record, tlnmf_record_free>>;

Context context;

void check(tlnmf_error error)
{
    if (error != TLNMF_OK)
        throw std::runtime_error(tlnmf_message(context.get()));
}

Settings make_settings(const char *task, const std::map<std::string, std::string> &options)
{
    tlnmf_settings *out;
    check(tlnmf_settings_create(context.get(), task, &out));
    Settings settings(out);
    for (const auto &option : options)
        check(tlnmf_settings_set_text(context.get(), out, option.first.c_str(),
                                      option.second.c_str()));
    return settings;
}

// Y[s][m][n]
Data make_data(double seed, int64_t S, int64_t M, int64_t N)
{
    const int64_t shape[3] = {S, M, N};
    std::vector<double> Y(static_cast<size_t>(S * M * N));
    tlnmf_data *out;
    for (size_t i = 0; i < Y.size(); i++)
        Y[i] = std::sin(seed + 0.7 * static_cast<double>(i * i));
    check(tlnmf_data_from_realisations(context.get(), Y.data(), shape, &out));
    return Data(out);
}

// Any value as text; of an array its shape.
std::string value(const tlnmf_record *record, const char *name)
{
    int32_t rank;
    int64_t shape[TLNMF_MAX_DIMENSIONS];
    std::string text;
    switch (tlnmf_record_type(record, name)) {
    case TLNMF_TYPE_INTEGER:
        return std::to_string(tlnmf_record_get_integer(record, name));
    case TLNMF_TYPE_REAL:
        return std::to_string(tlnmf_record_get_real(record, name));
    case TLNMF_TYPE_TEXT:
        return tlnmf_record_get_text(record, name);
    case TLNMF_TYPE_TEXTS:
        for (size_t i = 0; tlnmf_record_get_text_at(record, name, i) != nullptr; i++)
            text += std::string(tlnmf_record_get_text_at(record, name, i)) + " ";
        return text;
    case TLNMF_TYPE_ARRAY:
        tlnmf_record_get_array(record, name, &rank, shape);
        for (int32_t i = 0; i < rank; i++)
            text += std::to_string(shape[i]) + (i + 1 < rank ? " x " : "");
        return text;
    default:
        throw std::runtime_error(name);
    }
}

std::map<std::string, std::string> read_all(const tlnmf_record *record)
{
    std::map<std::string, std::string> values;
    for (size_t i = 0; const char *name = tlnmf_record_name(record, i); i++)
        values[name] = value(record, name);
    return values;
}

int stop(const tlnmf_record *progress, void *user)
{
    return tlnmf_record_get_integer(progress, "iteration") >= *static_cast<int *>(user);
}

void list_options()
{
    for (size_t t = 0; const char *task = tlnmf_task_name(t); t++) {
        std::printf("%s:", task);
        for (size_t i = 0; const char *option = tlnmf_option_name(task, i); i++)
            std::printf(" %s", option);
        std::printf("\n");
    }
}

void run()
{
    tlnmf_ctx *out;
    tlnmf_record *record;
    int last = 7;
    check(tlnmf_ctx_create(&out));
    context.reset(out);
    list_options();
    Settings settings =
        make_settings("fit", {{"k", "3"}, {"method", "tl"}, {"solver", "paper"}, {"tol", "0"}});
    tlnmf_ctx_set_progress(out, stop, &last);
    check(tlnmf_fit(out, make_data(1.0, 3, 8, 20).get(), settings.get(), nullptr, &record));
    tlnmf_ctx_set_progress(out, nullptr, nullptr);
    Record model(record);
    const auto results = read_all(record);
    if (results.at("outcome") != "cancelled" || results.at("W") != "8 x 3")
        throw std::runtime_error("the callback did not cancel the run");
    check(tlnmf_apply(out, record, make_data(2.0, 3, 8, 11).get(),
                      make_settings("apply", {}).get(), &record));
    Record applied(record);
    const std::complex<double> I(0.0, 1.0); // a name that is free again
    std::printf("%zu results, C = %s; H of new data: %s; |I| = %g\n", results.size(),
                results.at("C").c_str(), value(record, "H").c_str(), std::abs(I));
}

} // namespace

int main()
{
    try {
        run();
    } catch (const std::exception &error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
    return 0;
}
