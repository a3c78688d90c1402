/* What each placement of one pod would cost the GPUs of each node.
 *
 * The numpy form is in policies/gpu/packing_costs.py, with what the terms mean: the same float64
 * operations, added up in the same order.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <math.h>
#include <stdint.h>

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define WIDE __attribute__((target_clones("avx2", "default")))
#else
#define WIDE
#endif

#define BLOCK 256 /* classes that are added up at a time */
#define WHOLE 1000

typedef struct {
    int64_t cpu, memory;
    int32_t *left;
    Py_ssize_t devices, model;
} State;

/* Classes of pods, a column for each fact; those with a price stand at the end. */
typedef struct {
    double *cpu, *per_cpu, *fragments, *shortage, *price;
    int32_t *milli, *count;
    const int64_t *requests; /* (class, 4): cpu, memory, count, milli */
    const uint8_t *allowed;  /* (class, model) */
    Py_ssize_t classes, models;
} Demand;

static int read_demand(Demand *demand, const int64_t *requests, const double *weights)
{
    Py_ssize_t classes = demand->classes;
    demand->requests = requests;
    demand->cpu = PyMem_New(double, 5 * classes);
    demand->milli = PyMem_New(int32_t, 2 * classes);
    if (demand->cpu == NULL || demand->milli == NULL)
        return -1;
    demand->per_cpu = demand->cpu + classes;
    demand->fragments = demand->per_cpu + classes;
    demand->shortage = demand->fragments + classes;
    demand->price = demand->shortage + classes;
    demand->count = demand->milli + classes;
    for (Py_ssize_t t = 0; t < classes; t++, requests += 4, weights += 3) {
        demand->cpu[t] = (double)requests[0];
        demand->count[t] = requests[2] ? (int32_t)requests[2] : INT32_MAX;
        demand->milli[t] = (int32_t)requests[3];
        demand->per_cpu[t] = requests[0] > 0 ? (double)(requests[2] * requests[3]) / (double)requests[0] : 0.0;
        demand->fragments[t] = weights[0];
        demand->shortage[t] = requests[0] > 0 ? weights[1] : 0.0;
        demand->price[t] = weights[2];
    }
    return 0;
}

static int64_t copies(const State *state, const int64_t *asked)
{
    int64_t cpu = asked[0], memory = asked[1], count = asked[2], milli = asked[3], most = 0;
    for (Py_ssize_t i = 0; i < state->devices; i++)
        most += count > 1 ? state->left[i] >= milli : state->left[i] / (milli > 0 ? milli : 1);
    most = count > 1 ? most / count : most;
    if (cpu > 0 && most > 0 && state->cpu / cpu < most)
        most = state->cpu / cpu;
    if (memory > 0 && most > 0 && state->memory / memory < most)
        most = state->memory / memory;
    return most > 0 ? most : 0;
}

/* By class, from the first on, what a node's idle milli lose; where the model is wrong, as if all were
 * fragments. */
WIDE static void lose(double *restrict out, const State *restrict state,
                      const Demand *restrict demand, Py_ssize_t first, int classes, double idle)
{
    const int32_t *restrict milli = demand->milli + first, *restrict count = demand->count + first;
    const double *restrict needed = demand->cpu + first, *restrict per_cpu = demand->per_cpu + first;
    const double *restrict weight = demand->fragments + first;
    const double *restrict shortage = demand->shortage + first;
    int32_t fitting[BLOCK], small[BLOCK];
    for (int t = 0; t < classes; t++)
        fitting[t] = small[t] = 0;
    for (Py_ssize_t i = 0; i < state->devices; i++) {
        int32_t left = state->left[i];
        for (int t = 0; t < classes; t++) {
            int32_t fits = left >= milli[t];
            fitting[t] += fits;
            small[t] += fits ? 0 : left;
        }
    }
    double cpu = (double)state->cpu;
    for (int t = 0; t < classes; t++) {
        int fits = (fitting[t] >= count[t]) & (cpu >= needed[t]);
        double fragments = fits ? (double)small[t] : idle;
        double lacking = idle - cpu * per_cpu[t];
        lacking = lacking > 0.0 ? lacking : 0.0;
        out[t] = weight[t] * fragments + shortage[t] * lacking;
    }
}

static double idle_of(const State *state)
{
    int64_t idle = 0;
    for (Py_ssize_t i = 0; i < state->devices; i++)
        idle += state->left[i];
    return (double)idle;
}

static double potential(const State *state, const Demand *demand)
{
    double lost[BLOCK], total = 0.0, idle = idle_of(state);
    if (idle == 0.0)
        return 0.0;
    for (Py_ssize_t first = 0; first < demand->classes; first += BLOCK) {
        Py_ssize_t rest = demand->classes - first;
        int classes = rest < BLOCK ? (int)rest : BLOCK;
        lose(lost, state, demand, first, classes, idle);
        for (int i = 0; i < classes; i++) {
            Py_ssize_t t = first + i;
            const int64_t *asked = demand->requests + 4 * t;
            if (!demand->allowed[t * demand->models + state->model])
                lost[i] = demand->fragments[t] * idle;
            else if (demand->price[t] > 0.0)
                lost[i] -= demand->price[t] * (double)(copies(state, asked) * asked[2] * asked[3]);
            total += lost[i];
        }
    }
    return total;
}

static double value(const State *state, const Demand *demand, double before, double packing)
{
    return before - potential(state, demand) - packing * idle_of(state);
}

static void place_row(double *out, State *state, const int64_t *asked, const Demand *demand,
                      double packing)
{
    int64_t count = asked[2], milli = asked[3];
    Py_ssize_t fitting = 0, devices = state->devices;
    for (Py_ssize_t i = 0; i < devices; i++) {
        out[i] = -INFINITY;
        fitting += state->left[i] >= milli;
    }
    if (state->cpu < asked[0] || state->memory < asked[1] || fitting < count)
        return;
    double before = potential(state, demand);
    state->cpu -= asked[0];
    state->memory -= asked[1];
    if (count == 0) {
        out[0] = value(state, demand, before, packing);
    } else if (count > 1 || milli == WHOLE) {
        Py_ssize_t taken = 0, first = -1;
        for (Py_ssize_t i = 0; i < devices && taken < count; i++)
            if (state->left[i] >= milli) {
                first = first < 0 ? i : first;
                state->left[i] -= (int32_t)milli;
                taken++;
            }
        out[first] = value(state, demand, before, packing);
    } else {
        for (Py_ssize_t i = 0; i < devices; i++) {
            int32_t left = state->left[i];
            if (left < milli)
                continue;
            for (Py_ssize_t j = 0; j < i && out[i] == -INFINITY; j++)
                if (state->left[j] == left)
                    out[i] = out[j];
            if (out[i] != -INFINITY)
                continue;
            state->left[i] = left - (int32_t)milli;
            out[i] = value(state, demand, before, packing);
            state->left[i] = left;
        }
    }
}

static int hold(PyObject *object, Py_buffer *view, int writable, Py_ssize_t size)
{
    if (PyObject_GetBuffer(object, view, writable ? PyBUF_CONTIG : PyBUF_CONTIG_RO) < 0)
        return -1;
    if (view->itemsize == size)
        return 0;
    PyBuffer_Release(view);
    PyErr_SetString(PyExc_TypeError, "a column is of another type");
    return -1;
}

/* placements(out, rows, cpu, memory, left, model, asked, may, requests, allowed, weights, packing) */
static PyObject *placements(PyObject *self, PyObject *args)
{
    static const Py_ssize_t sizes[] = {8, 8, 8, 8, 4, 4, 8, 1, 8, 1, 8};
    PyObject *objects[11];
    double packing;
    if (!PyArg_ParseTuple(args, "OOOOOOOOOOOd", &objects[0], &objects[1], &objects[2], &objects[3],
                          &objects[4], &objects[5], &objects[6], &objects[7], &objects[8],
                          &objects[9], &objects[10], &packing))
        return NULL;
    Py_buffer held[11];
    int taken = 0;
    while (taken < 11 && hold(objects[taken], &held[taken], taken == 0, sizes[taken]) == 0)
        taken++;
    PyObject *answer = NULL;
    State state = {0};
    Demand demand = {0};
    if (taken < 11)
        goto done;
    Py_ssize_t rows = held[1].len / 8, nodes = held[2].len / 8, models = held[7].len;
    Py_ssize_t devices = nodes ? held[4].len / 4 / nodes : 0, classes = held[8].len / 32;
    if (held[3].len != held[2].len || held[5].len != nodes * 4 || held[6].len != 32 ||
        held[4].len != nodes * devices * 4 || held[0].len != rows * devices * 8 ||
        held[9].len != classes * models || held[10].len != classes * 24 ||
        (nodes && devices < 1)) {
        PyErr_SetString(PyExc_ValueError, "columns differ in length");
        goto done;
    }
    demand.classes = classes;
    demand.models = models;
    demand.allowed = held[9].buf;
    state.devices = devices;
    state.left = PyMem_New(int32_t, devices);
    if (state.left == NULL || read_demand(&demand, held[8].buf, held[10].buf) < 0) {
        PyErr_NoMemory();
        goto done;
    }
    const int64_t *asked = held[6].buf, *row = held[1].buf;
    const int64_t *cpu = held[2].buf, *memory = held[3].buf;
    const int32_t *left = held[4].buf, *model = held[5].buf;
    const uint8_t *may = held[7].buf;
    double *out = held[0].buf;
    for (Py_ssize_t k = 0; k < rows; k++, out += devices) {
        int64_t at = row[k];
        if (at < 0 || at >= nodes || model[at] < 0 || model[at] >= models) {
            PyErr_SetString(PyExc_IndexError, "no such row, or no such model");
            goto done;
        }
        state.cpu = cpu[at];
        state.memory = memory[at];
        state.model = model[at];
        for (Py_ssize_t i = 0; i < devices; i++)
            state.left[i] = left[at * devices + i];
        if (may[state.model])
            place_row(out, &state, asked, &demand, packing);
        else
            for (Py_ssize_t i = 0; i < devices; i++)
                out[i] = -INFINITY;
    }
    Py_INCREF(Py_True);
    answer = Py_True;
done:
    PyMem_Free(state.left);
    PyMem_Free(demand.cpu);
    PyMem_Free(demand.milli);
    while (taken > 0)
        PyBuffer_Release(&held[--taken]);
    return answer;
}

static PyMethodDef methods[] = {
    {"placements", placements, METH_VARARGS,
     "Write what a pod's placement on each device of some rows is worth."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT, "_gpu_kernels", "What placements cost the GPUs of nodes.", -1, methods,
};

PyMODINIT_FUNC PyInit__gpu_kernels(void)
{
    return PyModule_Create(&module);
}
