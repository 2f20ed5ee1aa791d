// The default case of a switch that handles every member of a union.

/** Makes the compiler refuse a switch that does not handle every member. Throws Error if it is reached at run time. */
export function assertNever(value: never): never {
  throw new Error(`unexpected value ${JSON.stringify(value)}`)
}
