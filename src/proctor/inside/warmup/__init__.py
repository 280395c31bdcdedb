"""What makes a fork of the zygote cheap: done once, before student code exists, so that no child has to.

stub_compiler   torch's compiler, left out until somebody asks for it
meta_kernels    torch's own kernels on the meta device, not their Python versions
rehearsal       what a child would do for the first time, done before
heap            memory that children need not copy
"""
