// Reads a configuration file in YAML or JSON, bounded in size and without what has two meanings (bridge.md 3). Profiles and keys are
// read by the same rules.
import { StartupError, type StartupErrorCode } from '../../shared/startup-error.ts'
import { type ConfigFile, readFileText } from './file.ts'
import { parseJson } from './json.ts'
import { UnreadableFile } from './unreadable-file.ts'
import { parseYaml } from './yaml.ts'

/** How problems of one kind of file are reported. */
export interface ConfigFileKind {
  readonly code: StartupErrorCode
  /** Begins the sentence of a problem: "Provider profile config". */
  readonly subject: string
}

/** Returns the value that a file holds. Throws `StartupError` with the code of the kind; it names neither path nor content. */
export function readConfigFile(path: string, kind: ConfigFileKind): unknown {
  return refusing(kind, () => parse(readFileText(path)))
}

/** Returns the value of a text. Throws as `readConfigFile` does. */
export function parseConfigText(file: ConfigFile, kind: ConfigFileKind): unknown {
  return refusing(kind, () => parse(file))
}

function parse({ text, format }: ConfigFile): unknown {
  return format === 'json' ? parseJson(text) : parseYaml(text)
}

function refusing(kind: ConfigFileKind, read: () => unknown): unknown {
  try {
    return read()
  } catch (error) {
    if (!(error instanceof UnreadableFile)) throw error
    throw new StartupError(kind.code, `${kind.subject} ${error.predicate}.`, [], error.location)
  }
}
