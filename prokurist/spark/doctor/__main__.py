"""`python -m prokurist.spark.doctor MASTER`: examines a session of its own, step by step."""

import sys

from prokurist.spark.doctor.doctor import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
