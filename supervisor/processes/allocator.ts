// How the allocator of the C library gives memory back to the system, for processes with a memory limit. By default it keeps what large
// bodies have used: once one of 20 MB was freed, it takes such memory from a heap that shrinks only at its end.

/**
 * Few arenas, and large allocations apart from them. Measured under a limit of 512 MiB after a flood of bodies of 20 MB: 177 instead of
 * 315 MiB stay with the processes. Other C libraries ignore the variables.
 */
const VARIABLES = { MALLOC_ARENA_MAX: '2', MALLOC_MMAP_THRESHOLD_: '1048576' } as const

/** The variables for processes under a memory limit. What the operator chose stays as it is. */
export function planAllocator(environment: Readonly<Record<string, string | undefined>>): Record<string, string> {
  return Object.fromEntries(Object.entries(VARIABLES).filter(([name]) => environment[name] === undefined))
}
