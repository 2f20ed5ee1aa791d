// The memory of this process, for the metrics. The system tells it in a file, which cannot be opened where there are no descriptors.

/** Undefined where it cannot be read now. */
export function readProcessMemory(): Pick<NodeJS.MemoryUsage, 'rss' | 'heapUsed'> | undefined {
  try {
    return process.memoryUsage()
  } catch {
    return undefined
  }
}
