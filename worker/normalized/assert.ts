// Assertions about the gateway's own code: a failure here is a bug, never bad input.

/** Ends a `switch` over a discriminated union: the compiler proves that no member is missing. */
export function assertNever(value: never): never {
  throw new Error(`Unexpected variant: ${JSON.stringify(value)}`)
}
