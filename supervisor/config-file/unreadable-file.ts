// Why a configuration file has no value, before anything is known of what it should hold.

/** Raised for a file that cannot be read or parsed. It repeats no content and no path. */
export class UnreadableFile extends Error {
  /** Follows the name of the kind of file: "is malformed". */
  readonly predicate: string
  /** Where in the file, such as `line 3`. */
  readonly location: string | undefined

  constructor(predicate: string, location?: string) {
    super(`The file ${predicate}.`)
    this.name = 'UnreadableFile'
    this.predicate = predicate
    this.location = location
  }
}
