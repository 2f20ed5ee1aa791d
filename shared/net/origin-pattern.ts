// Origins of browsers that are given as a regular expression between slashes, such as `/https:\/\/.*\.app\.example/`.

/** Returns the expression for the whole origin, or undefined for a text that is an origin itself. Throws where it cannot be read. */
export function readOriginPattern(origin: string): RegExp | undefined {
  const isPattern = origin.length > 2 && origin.startsWith('/') && origin.endsWith('/')
  return isPattern ? new RegExp(`^(?:${origin.slice(1, -1)})$`) : undefined
}
