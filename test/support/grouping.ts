// What the imports of a test file tell of it: whether it shares a process with others of its folder, and whether it has properties.

import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

const IMPORT = /^(?:import|export)\b[^'"]*?\bfrom '([^']+)'|^import '([^']+)'|\bimport\('([^']+)'\)/gm
const STARTS_PROCESSES = new Set(['node:child_process', 'execa', 'playwright-core'])
/** It takes types and pure functions from modules that start processes. */
const STARTS_NONE = '/support/in-process-gateway.ts'

/**
 * True for files that begin with "// Alone:" and a reason, and for end-to-end tests that import what starts processes: such a file waits
 * most of the time, so that others can run beside it.
 */
export function isAlone(file: string): boolean {
  if (readFileSync(file, 'utf8').startsWith('// Alone: ')) return true
  return file.includes('/end-to-end/') && imports(file, specifier => STARTS_PROCESSES.has(specifier))
}

/** True for files that make more runs in the long set. */
export function hasProperties(file: string): boolean {
  return imports(file, specifier => specifier.endsWith('/properties.ts'))
}

/** Whether a file imports such a module, directly or through other files of the tests or tools. */
function imports(file: string, isWanted: (specifier: string) => boolean, seen = new Set<string>()): boolean {
  if (seen.has(file)) return false
  seen.add(file)
  return importsOf(file).some(specifier => {
    if (isWanted(specifier)) return true
    const imported = join(dirname(file), specifier)
    const isOfTests = /\/(?:test|ops)\//.test(imported) && imported.endsWith('.ts') && existsSync(imported)
    return (
      specifier.startsWith('.') && isOfTests && !imported.endsWith(STARTS_NONE) && imports(imported, isWanted, seen)
    )
  })
}

function importsOf(file: string): string[] {
  return [...readFileSync(file, 'utf8').matchAll(IMPORT)].flatMap(([, one, two, three]) => one ?? two ?? three ?? [])
}
