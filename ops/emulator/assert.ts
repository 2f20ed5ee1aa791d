// The end of a switch over all members of a union.

/** Never called when every member is handled; the compiler proves it. */
export function assertNever(value: never): never {
  throw new Error(`unexpected value ${JSON.stringify(value)}`)
}
