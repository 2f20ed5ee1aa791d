// The programs of this folder: how each is built, and whether it can run here.

import { existsSync } from 'node:fs'
import { join } from 'node:path'

/** A language whose official SDKs are driven against the gateway. */
export interface Toolchain {
  readonly language: 'python' | 'go' | 'java'
  /** The programs that build it, which no package of this project brings. */
  readonly programs: readonly string[]
  readonly folder: string
  /** What exists once it is built, below its folder. */
  readonly built: string
  readonly build: ReadonlyArray<readonly [program: string, ...parameters: string[]]>
  /** The programs with the checks. */
  readonly runs: ReadonlyArray<readonly [program: string, ...parameters: string[]]>
}

const PYTHON = join('.venv', 'bin', 'python')
/** With the packages that need an older generation of `openai`. */
const OLDER_PYTHON = join('.venv-openai-2', 'bin', 'python')
const INSTALL = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '-r'] as const

export const toolchains: readonly Toolchain[] = [
  {
    language: 'python',
    programs: ['python3'],
    folder: join(import.meta.dirname, 'python'),
    built: OLDER_PYTHON,
    build: [
      ['python3', '-m', 'venv', '.venv'],
      [PYTHON, ...INSTALL, 'requirements.txt'],
      ['python3', '-m', 'venv', '.venv-openai-2'],
      [OLDER_PYTHON, ...INSTALL, 'requirements-openai-2.txt']
    ],
    runs: [
      ...['openai_checks', 'anthropic_checks', 'genai_checks', 'langchain_checks', 'memory_checks'].map(
        name => [PYTHON, `${name}.py`] as const
      ),
      [OLDER_PYTHON, 'llama_index_checks.py']
    ]
  },
  {
    language: 'go',
    programs: ['go'],
    folder: join(import.meta.dirname, 'go'),
    built: join('bin', 'checks'),
    build: [['go', 'build', '-o', join('bin', 'checks'), '.']],
    runs: [[join('bin', 'checks')]]
  },
  {
    language: 'java',
    programs: ['java', 'mvn'],
    folder: join(import.meta.dirname, 'java'),
    built: join('target', 'languages-1.jar'),
    build: [['mvn', '--quiet', '--batch-mode', 'package']],
    runs: [['java', '-cp', `${join('target', 'languages-1.jar')}:${join('target', 'libraries', '*')}`, 'checks.Checks']]
  }
]

/** The toolchain of a language. Throws for another word. */
export function findToolchain(language: string): Toolchain {
  const found = toolchains.find(one => one.language === language)
  if (found === undefined) throw new Error(`There is no toolchain for ${language}.`)
  return found
}

/** The reason to skip the checks of a language; false where they are built. */
export function whyNotBuilt(language: string): string | false {
  const { folder, built } = findToolchain(language)
  return existsSync(join(folder, built)) ? false : `the SDKs of ${language} are not installed: npm run languages`
}
