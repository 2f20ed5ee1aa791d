// Checks whether this Node is new enough. It runs before modules that would fail on an older one with an unclear message, so it uses
// only what old versions have.

/**
 * Describes what is wrong with the running version, such as `20.11.0`, under a requirement of `engines` in the form `>=22.15`.
 * Returns undefined when it is new enough.
 */
export function findNodeProblem(running: string, required: string): string | undefined {
  const lowest = /^>=\s*(\d+(?:\.\d+)*)$/.exec(required.trim())?.[1]
  if (lowest === undefined || !isLower(running, lowest)) return undefined
  return `unsupported_node: Node ${lowest} or later is needed; this is Node ${running}`
}

function isLower(version: string, than: string): boolean {
  const [left, right] = [toNumbers(version), toNumbers(than)]
  const different = right.findIndex((number, index) => (left[index] ?? 0) !== number)
  return different !== -1 && (left[different] ?? 0) < (right[different] ?? 0)
}

function toNumbers(version: string): number[] {
  return version.split('.').map(part => Number.parseInt(part, 10))
}
