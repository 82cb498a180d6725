"""`prokurist spark doctor`: checks a Spark session and its Python workers.

Thread: the caller's.
"""

from prokurist.spark.doctor.doctor import examine as examine
from prokurist.spark.doctor.doctor import interpreter as interpreter
from prokurist.spark.doctor.doctor import java as java
from prokurist.spark.doctor.doctor import last_line as last_line
