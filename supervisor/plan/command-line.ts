// Reads the command line: a few flags, without abbreviations or guesses (bridge.md 1.1).
import { parseArgs } from 'node:util'
import { isKeyName, KEY_NAME_RULE } from '../../shared/keys/key-name.ts'
import { DEFAULT_KEY_NAME } from '../../shared/keys/key-ring.ts'
import { type SettingName, settingsTable } from '../../shared/settings/table.ts'

/** The flags that stand for settings, and the other options of a start. */
export interface StartOptions {
  /** Raw texts of settings that were given as flags, under their variable names. */
  readonly variables: Readonly<Record<string, string>>
  /** Value of `--config`. */
  readonly configPath?: string
  /** Value of `--env-path`, or of its other spelling `--env-file`. */
  readonly envFile?: string
  readonly isDemo: boolean
}

export type Command =
  | { readonly kind: 'help' }
  | { readonly kind: 'version' }
  | { readonly kind: 'usage-error'; readonly message: string }
  | { readonly kind: 'new-key'; readonly name: string }
  | { readonly kind: 'inspect'; readonly options: StartOptions }
  | { readonly kind: 'start'; readonly options: StartOptions }

export const USAGE = `Usage: llm-gateway [options]

Serves the OpenAI, Anthropic and Google GenAI client protocols in front of one upstream, or of the
providers that a profile file names.

Options:
  --config <path>     provider profile file, YAML or JSON (also GATEWAY_CONFIG)
  --inspect-config    check the configuration, print the result as JSON and exit
  --env-path <path>   read variables from this file instead of .env
  --env-file <path>   the same, but Node itself ends with 9 when there is no such file
  --host <address>    address to listen on (also GATEWAY_HOST)
  --port <number>     port to listen on (also GATEWAY_PORT)
  --workers <number>  number of worker processes (also GATEWAY_WORKERS)
  --new-key <name>    print a fresh API key and its entry for a keys file, and exit
  --demo              start an embedded upstream on loopback and use it
  --version           print the version and exit
  -h, --help          print this text and exit

Every other setting is an environment variable or a line of the .env file; ops/guides/settings.md lists all.
`

const flags = {
  config: { type: 'string' },
  'inspect-config': { type: 'boolean' },
  'env-file': { type: 'string' },
  'env-path': { type: 'string' },
  host: { type: 'string' },
  port: { type: 'string' },
  workers: { type: 'string' },
  'new-key': { type: 'string' },
  demo: { type: 'boolean' },
  version: { type: 'boolean' },
  help: { type: 'boolean', short: 'h' }
} as const

const settingFlags = [
  { flag: 'host', name: 'GATEWAY_HOST' },
  { flag: 'port', name: 'GATEWAY_PORT' },
  { flag: 'workers', name: 'GATEWAY_WORKERS' }
] as const

/** Turns arguments into a command. A usage error names flags and never repeats a value, which might be a secret. */
export function parseCommandLine(argumentList: readonly string[]): Command {
  const parsed = parseFlags(argumentList)
  if ('message' in parsed) return { kind: 'usage-error', message: parsed.message }
  const { values, tokens } = parsed
  if (values.help === true) return { kind: 'help' }
  if (values.version === true) return { kind: 'version' }
  const newKey = values['new-key']
  if (newKey !== undefined) return readNewKey(newKey)

  const variables: Record<string, string> = {}
  for (const { flag, name } of settingFlags) {
    const text = values[flag]
    if (text === undefined) continue
    const problem = findValueProblem(name, text)
    if (problem !== undefined) return { kind: 'usage-error', message: `--${flag} ${problem}` }
    variables[name] = text
  }
  // The two spellings are one flag, so the last one given counts.
  const envFile = tokens.findLast(token => token.kind === 'option' && token.name.startsWith('env-'))
  if (envFile?.value === '') return { kind: 'usage-error', message: '--env-path must name a file' }
  const options: StartOptions = {
    variables,
    isDemo: values.demo === true,
    ...(values.config !== undefined && { configPath: values.config }),
    ...(envFile?.value !== undefined && { envFile: envFile.value })
  }
  return { kind: values['inspect-config'] === true ? 'inspect' : 'start', options }
}

function readNewKey(name: string): Command {
  if (!isKeyName(name)) return { kind: 'usage-error', message: `--new-key must be ${KEY_NAME_RULE}` }
  if (name !== DEFAULT_KEY_NAME) return { kind: 'new-key', name }
  return { kind: 'usage-error', message: `--new-key must not be ${DEFAULT_KEY_NAME}, the name of GATEWAY_API_KEY` }
}

function parseFlags(argumentList: readonly string[]) {
  try {
    const { values, tokens } = parseArgs({ args: [...argumentList], options: flags, strict: true, tokens: true })
    return { values, tokens: tokens.map(token => ({ name: '', value: undefined, ...token })) }
  } catch (error) {
    return { message: explain(error) }
  }
}

function explain(error: unknown): string {
  if (!(error instanceof TypeError) || !('code' in error)) throw error
  const flag = /'(--?[^'=\s]+)/.exec(error.message)?.[1]
  switch (error.code) {
    case 'ERR_PARSE_ARGS_UNKNOWN_OPTION':
      return `unknown option ${flag ?? ''}`.trim()
    case 'ERR_PARSE_ARGS_INVALID_OPTION_VALUE':
      return `${flag ?? 'an option'} has a missing or unexpected value`
    case 'ERR_PARSE_ARGS_UNEXPECTED_POSITIONAL':
      return 'unexpected word; there are only options'
    default:
      throw error
  }
}

function findValueProblem(name: SettingName, text: string): string | undefined {
  if (text === '') return 'must not be empty'
  return settingsTable[name].type.schema.safeParse(text).error?.issues[0]?.message
}
