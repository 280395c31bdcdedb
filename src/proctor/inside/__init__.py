"""The code that runs in one process with student code. The directory is the list: `sandbox.launch` sends all of it in.

Nothing here may import more of ours than this package and `proctor.forbid` (a test says so), and nothing may be a
secret: student code can read and change it all.

What a probe needs, wherever student code runs (a notebook, a self-check, the sandbox's child):
    inputs          fresh inputs, named by keys, salted in graded runs
    observe         run one probe on one implementation
    properties      probes that many exercises share
    running         run a submission: its cells, then every probe. Nothing else compiles student text
    recorder        the values that the expressions of an answer have while it runs
    time_limit      an exception for code that does not end
    stub_modules    stand-ins for what is of no use to a grader, such as plots
    memory_importer modules that exist as text in memory only

The sandbox's own processes:
    bootstrap       zygote: its first lines
    zygote          zygote: load what children share, then fork a child for each submission
    warmup          zygote: what makes a fork cheap
    harness         child: take a job, run it, send what was seen
    seccomp, landlock, rlimits  child and zygote: confine this process
    frames          both sides of the wall: what crosses it
    protocol        and how tensors do
"""
