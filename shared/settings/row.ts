// The row that describes one setting, and the builders of the rows of one section.
import type { SettingType } from './types.ts'

export type SettingsSection =
  | 'Process'
  | 'Requests'
  | 'Memory of Responses'
  | 'Access'
  | 'Keys, limits and spend'
  | 'Runtime log'
  | 'Traffic log'
  | 'Tracing'
  | 'Metrics'
  | 'Admin and debug'
  | 'Native upstream'
  | 'Proxy'

export interface SettingRow<T> {
  readonly section: SettingsSection
  readonly type: SettingType<T>
  readonly meaning: string
  /** The default in the documentation; undefined when the setting is unset by default. */
  readonly defaultText: string | undefined
  readonly defaultValue: () => T | undefined
  /** Other names that are read, in this order, when the setting's own name is absent. */
  readonly aliases: readonly string[]
  /** A secret is held as `Secret`, may come from a file named by `<NAME>_FILE`, and is never printed. */
  readonly isSecret: boolean
}

/** A row that has a default, and therefore always a value. */
export interface DefaultedRow<T> extends SettingRow<T> {
  readonly defaultValue: () => T
}

interface RowOptions {
  aliases?: readonly string[]
  secret?: true
}

/** The builders of one section's rows. */
export type SectionRows = ReturnType<typeof section>

/**
 * The row builders for one section: `withDefault` and `computed` give a setting that always has a value, `optional` one that may be
 * undefined.
 */
export function section(name: SettingsSection) {
  const common = (options: RowOptions) => ({
    section: name,
    aliases: options.aliases ?? [],
    isSecret: options.secret ?? false
  })
  /** The default depends on the machine; `text` describes it. */
  function computed<T>(
    type: SettingType<T>,
    fallback: { value: () => T; text: string },
    meaning: string,
    options: RowOptions = {}
  ): DefaultedRow<T> {
    return { ...common(options), type, meaning, defaultText: fallback.text, defaultValue: fallback.value }
  }
  return {
    computed,
    /** The default is a text that the setting's own type parses, so the documented default is always the real one. */
    withDefault: <T>(type: SettingType<T>, text: string, meaning: string, options?: RowOptions): DefaultedRow<T> =>
      computed(type, { value: () => type.schema.parse(text), text }, meaning, options),
    optional: <T>(type: SettingType<T>, meaning: string, options: RowOptions = {}): SettingRow<T> => ({
      ...common(options),
      type,
      meaning,
      defaultText: undefined,
      defaultValue: () => undefined
    })
  }
}
