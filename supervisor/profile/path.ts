// Which provider profile file was chosen: by flag, by variable, by both when they mean the same
// file (bridge.md 1.2).
import { realpathSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { StartupError } from '../../shared/startup-error.ts'
import { expandPath } from '../config-file/path.ts'

export interface ProfilePathSources {
  /** Value of `--config`. */
  readonly flag: string | undefined
  /** Value of `GATEWAY_CONFIG`; an empty one counts as absent. */
  readonly variable: string | undefined
}

/** Returns the absolute path of the chosen file, or undefined in native mode. Throws `StartupError` on a bad or contradictory choice. */
export function resolveProfilePath(sources: ProfilePathSources): string | undefined {
  const variable = sources.variable === '' ? undefined : sources.variable
  for (const text of [sources.flag, variable]) {
    if (text !== undefined && (text === '' || text !== text.trim())) {
      throw new StartupError('invalid_profile_schema', 'Provider config path is invalid.')
    }
  }
  const fromFlag = sources.flag === undefined ? undefined : resolvePath(sources.flag)
  const fromVariable = variable === undefined ? undefined : resolvePath(variable)
  if (fromFlag !== undefined && fromVariable !== undefined && fromFlag !== fromVariable) {
    throw new StartupError('invalid_profile_schema', 'CLI and environment provider config paths disagree.')
  }
  return fromFlag ?? fromVariable
}

function resolvePath(text: string): string {
  return followLinks(expandPath(text))
}

/** The real path as far as it exists: a file that is not there yet is still the same file under every spelling. */
function followLinks(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    const parent = dirname(path)
    return parent === path ? path : join(followLinks(parent), basename(path))
  }
}
